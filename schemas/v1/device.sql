CREATE TABLE device (
    run_id                       VARCHAR NOT NULL,
    device_id                    INTEGER NOT NULL,
    kind                         VARCHAR,
    vendor                       VARCHAR,
    name                         VARCHAR,
    uuid                         VARCHAR,
    bus                          VARCHAR,
    sm_count                     INTEGER,
    memory_bytes                 BIGINT,
    compute_major                INTEGER,
    compute_minor                INTEGER,
    max_warps_per_sm             INTEGER,
    max_threads_per_sm           INTEGER,
    threads_per_warp             INTEGER,
    memory_bandwidth_bytes_per_s BIGINT,
    core_clock_hz                BIGINT,
    memory_clock_hz              BIGINT,
    extra                        JSON
);

COMMENT ON TABLE device IS
    'One GPU, or other device, that the trace saw.';
COMMENT ON COLUMN device.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN device.device_id IS
    'Number of the device in the trace: the CUDA ordinal for CUDA traces.';
COMMENT ON COLUMN device.kind IS 'gpu, cpu, tpu or other.';
COMMENT ON COLUMN device.vendor IS 'nvidia, amd, intel or other.';
COMMENT ON COLUMN device.name IS 'Product name.';
COMMENT ON COLUMN device.uuid IS 'UUID, as the driver gives it.';
COMMENT ON COLUMN device.bus IS 'PCI address.';
COMMENT ON COLUMN device.sm_count IS 'Streaming multiprocessors or compute units.';
COMMENT ON COLUMN device.memory_bytes IS 'Memory, bytes.';
COMMENT ON COLUMN device.compute_major IS 'Compute capability, major.';
COMMENT ON COLUMN device.compute_minor IS 'Compute capability, minor.';
COMMENT ON COLUMN device.max_warps_per_sm IS 'Warps that one SM can hold.';
COMMENT ON COLUMN device.max_threads_per_sm IS 'Threads that one SM can hold.';
COMMENT ON COLUMN device.threads_per_warp IS 'Threads in a warp or wavefront.';
COMMENT ON COLUMN device.memory_bandwidth_bytes_per_s IS 'Peak memory bandwidth, bytes per second.';
COMMENT ON COLUMN device.core_clock_hz IS 'Peak core clock, Hz.';
COMMENT ON COLUMN device.memory_clock_hz IS 'Peak memory clock, Hz.';
COMMENT ON COLUMN device.extra IS 'Source fields that no column holds.';
