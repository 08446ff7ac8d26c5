-- @title Devices of logs and of the traces they lie beside
-- Each device of each log that is attached to a run, and the run's device that it
-- provably is: by UUID, else by PCI address, else by nvidia-smi's index. CUDA numbers
-- devices its own way, so that an index is no proof; it is one where another log of the
-- run says which UUID or address has it, or where a matrix of links has as many GPUs as
-- the run: nvidia-smi numbers GPUs in the order of their addresses.
-- @column run_id id key The trace.
-- @column log_run_id id key The log.
-- @column log_device_id id key Device as the log numbers it.
-- @column device_id id neutral Device of the trace; NULL where nothing proves it.
-- @column matched_by text neutral uuid, bus or index; NULL for none.
-- @key run_id, log_run_id, log_device_id
-- @since 0.1
CREATE MACRO _smi_devices() AS TABLE
WITH traced AS (
    SELECT
        device.run_id::VARCHAR AS run_id, device.device_id,
        regexp_replace(lower(device.uuid), '^[a-z]+-', '') AS uuid,
        regexp_replace(lower(device.bus), '^0000([0-9a-f]{4}:)', '\1') AS bus
    FROM device
    WHERE device.kind IS DISTINCT FROM 'cpu'
),
logged AS (
    SELECT
        log.attached_to AS run_id, log.run_id::VARCHAR AS log_run_id, gpu.device_id,
        regexp_replace(lower(gpu.uuid), '^[a-z]+-', '') AS uuid,
        regexp_replace(lower(gpu.bus), '^0000([0-9a-f]{4}:)', '\1') AS bus,
        CASE
            WHEN gpu.run_id IN (SELECT run_id FROM attached_topology)
                THEN gpu.device_id
            ELSE TRY_CAST(gpu.extra ->> 'index' AS INTEGER)
        END AS gpu_index
    FROM attached_run AS log
    JOIN attached_device AS gpu ON gpu.run_id = log.run_id
),
-- A device of several processes, or of parts of one GPU, has its UUID more than once.
by_uuid AS (
    SELECT run_id, uuid, any_value(device_id) AS device_id
    FROM traced
    WHERE uuid IS NOT NULL
    GROUP BY run_id, uuid
    HAVING count(*) = 1
),
by_bus AS (
    SELECT run_id, bus, any_value(device_id) AS device_id
    FROM traced
    WHERE bus IS NOT NULL
    GROUP BY run_id, bus
    HAVING count(*) = 1
),
told AS (
    SELECT
        logged.run_id, logged.log_run_id, logged.device_id AS log_device_id,
        logged.gpu_index,
        coalesce(by_uuid.device_id, by_bus.device_id) AS device_id,
        CASE
            WHEN by_uuid.device_id IS NOT NULL THEN 'uuid'
            WHEN by_bus.device_id IS NOT NULL THEN 'bus'
        END AS matched_by
    FROM logged
    LEFT JOIN by_uuid
        ON by_uuid.run_id = logged.run_id AND by_uuid.uuid = logged.uuid
    LEFT JOIN by_bus ON by_bus.run_id = logged.run_id AND by_bus.bus = logged.bus
),
-- All GPUs of the machine, in the order of their addresses.
in_order AS (
    SELECT
        traced.run_id, traced.device_id,
        row_number() OVER (PARTITION BY traced.run_id ORDER BY traced.bus) - 1
            AS gpu_index
    FROM traced
    WHERE (traced.run_id, (
        SELECT count(DISTINCT whole.bus)
        FROM traced AS whole
        WHERE whole.run_id = traced.run_id
    )) IN (
        SELECT logged.run_id, count(*)
        FROM logged
        WHERE logged.log_run_id IN (SELECT run_id::VARCHAR FROM attached_topology)
        GROUP BY logged.run_id, logged.log_run_id
    )
),
by_index AS (
    SELECT run_id, gpu_index, any_value(device_id) AS device_id
    FROM (
        SELECT run_id, gpu_index, device_id FROM told WHERE device_id IS NOT NULL
        UNION
        SELECT run_id, gpu_index, device_id FROM in_order
    )
    WHERE gpu_index IS NOT NULL
    GROUP BY run_id, gpu_index
    HAVING count(*) = 1
)
SELECT
    told.run_id, told.log_run_id, told.log_device_id,
    coalesce(told.device_id, by_index.device_id) AS device_id,
    coalesce(
        told.matched_by, CASE WHEN by_index.device_id IS NOT NULL THEN 'index' END
    ) AS matched_by
FROM told
LEFT JOIN by_index
    ON by_index.run_id = told.run_id AND by_index.gpu_index = told.gpu_index
ORDER BY told.run_id, told.log_run_id, told.log_device_id;
