-- @title Links between devices of a trace
-- How two GPUs of a run are linked, by the matrix (nvidia-smi topo -m) that is attached
-- to it. The matrix numbers GPUs as nvidia-smi does: see _smi_devices for what proves
-- which is which. Where all GPUs of the machine are linked alike, nothing has to.
-- @column run_id id key The trace.
-- @column src_device_id id key One device.
-- @column dst_device_id id key The other.
-- @column link text neutral NV and the number of links, PIX, PXB, PHB, NODE or SYS.
-- @key run_id, src_device_id, dst_device_id
-- @since 0.1
CREATE MACRO _device_links() AS TABLE
WITH links AS (
    SELECT
        log.attached_to AS run_id, log.run_id::VARCHAR AS log_run_id,
        TRY_CAST(regexp_extract(link.from_device, '^GPU(\d+)$', 1) AS INTEGER)
            AS from_gpu,
        TRY_CAST(regexp_extract(link.to_device, '^GPU(\d+)$', 1) AS INTEGER) AS to_gpu,
        link.kind
    FROM attached_topology AS link
    JOIN attached_run AS log ON log.run_id = link.run_id
),
gpu_links AS (
    SELECT * FROM links WHERE from_gpu IS NOT NULL AND to_gpu IS NOT NULL
),
-- The matrix stands once for both directions, unless they differ.
directed AS (
    SELECT * FROM gpu_links
    UNION ALL
    SELECT run_id, log_run_id, to_gpu, from_gpu, kind
    FROM gpu_links AS one
    WHERE (log_run_id, to_gpu, from_gpu) NOT IN (
        SELECT other.log_run_id, other.from_gpu, other.to_gpu FROM gpu_links AS other
    )
),
alike AS (
    SELECT run_id, any_value(kind) AS kind
    FROM gpu_links
    GROUP BY run_id
    HAVING count(DISTINCT kind) = 1
),
gpus AS (
    SELECT device.run_id::VARCHAR AS run_id, device.device_id
    FROM device
    WHERE device.kind = 'gpu' AND device.run_id::VARCHAR IN (SELECT run_id FROM links)
),
told AS (
    SELECT
        directed.run_id, one.device_id AS src_device_id,
        other.device_id AS dst_device_id, directed.kind
    FROM directed
    JOIN v1._smi_devices() AS one
        ON one.log_run_id = directed.log_run_id
        AND one.log_device_id = directed.from_gpu
    JOIN v1._smi_devices() AS other
        ON other.log_run_id = directed.log_run_id
        AND other.log_device_id = directed.to_gpu
    WHERE one.device_id <> other.device_id
    UNION ALL
    SELECT one.run_id, one.device_id, other.device_id, alike.kind
    FROM alike
    JOIN gpus AS one ON one.run_id = alike.run_id
    JOIN gpus AS other
        ON other.run_id = alike.run_id AND other.device_id <> one.device_id
)
SELECT run_id, src_device_id, dst_device_id, any_value(kind) AS link
FROM told
GROUP BY run_id, src_device_id, dst_device_id
HAVING count(DISTINCT kind) = 1
ORDER BY run_id, src_device_id, dst_device_id;
