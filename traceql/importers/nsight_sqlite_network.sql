-- Network adapters and switches: samples of counters. An adapter has no device number;
-- its name stands before the counter's, so that two adapters never add up unseen.

-- @prepare
CREATE TABLE network_metric AS
SELECT
    metricsListId AS list_id, metricsIdx AS idx, any_value(name) AS name,
    any_value(nullif(unit, '')) AS unit
FROM TARGET_INFO_NETWORK_METRICS
GROUP BY ALL;
CREATE TABLE adapter AS
SELECT m.globalId AS global_id, any_value(n.name) AS name
FROM NIC_ID_MAP AS m
JOIN TARGET_INFO_NIC_INFO AS n ON n.nicId = m.nicId
GROUP BY m.globalId
HAVING count(DISTINCT n.name) = 1;

-- @phase host

-- @rows counter FROM NET_NIC_METRIC
SELECT
    s."start" AS ts_ns,
    coalesce(a.name, 'nic ' || s.globalId) || coalesce(':' || s.portId, '') || ' '
        || coalesce(m.name, 'metric ' || s.metricsListId || '.' || s.metricsIdx)
        AS name,
    s.value, m.unit,
    json_object_of(concat_ws(
        ',', '"interval_ns":' || (s."end" - s."start"), '"globalId":' || s.globalId
    )) AS extra
FROM NET_NIC_METRIC AS s
LEFT JOIN adapter AS a ON a.global_id = s.globalId
LEFT JOIN network_metric AS m
    ON m.list_id = s.metricsListId AND m.idx = s.metricsIdx

-- @rows counter FROM NET_IB_SWITCH_METRIC
SELECT
    s."start" AS ts_ns,
    'switch ' || s.globalId || coalesce(':' || s.portId, '') || ' '
        || coalesce(m.name, 'metric ' || s.metricsListId || '.' || s.metricsIdx)
        AS name,
    s.value, m.unit,
    '{"interval_ns":' || (s."end" - s."start") || '}' AS extra
FROM NET_IB_SWITCH_METRIC AS s
LEFT JOIN network_metric AS m
    ON m.list_id = s.metricsListId AND m.idx = s.metricsIdx
