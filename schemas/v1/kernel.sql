CREATE TABLE kernel (
    run_id                        VARCHAR NOT NULL,
    ts_ns                         BIGINT NOT NULL,
    dur_ns                        BIGINT,
    kernel_id                     BIGINT NOT NULL,
    name                          VARCHAR,
    short_name                    VARCHAR,
    mangled_name                  VARCHAR,
    device_id                     INTEGER,
    context_id                    BIGINT,
    stream_id                     BIGINT,
    green_context_id              BIGINT,
    priority                      INTEGER,
    pid                           BIGINT,
    correlation_id                BIGINT,
    api_call_id                   BIGINT,
    launch_ts_ns                  BIGINT,
    op_id                         BIGINT,
    graph_id                      BIGINT,
    graph_node_id                 BIGINT,
    grid_id                       BIGINT,
    launch_type                   VARCHAR,
    grid_x                        INTEGER,
    grid_y                        INTEGER,
    grid_z                        INTEGER,
    block_x                       INTEGER,
    block_y                       INTEGER,
    block_z                       INTEGER,
    cluster_x                     INTEGER,
    cluster_y                     INTEGER,
    cluster_z                     INTEGER,
    registers_per_thread          INTEGER,
    static_shared_memory_bytes    BIGINT,
    dynamic_shared_memory_bytes   BIGINT,
    shared_memory_bytes           BIGINT,
    local_memory_per_thread_bytes BIGINT,
    local_memory_total_bytes      BIGINT,
    blocks_per_sm                 DOUBLE,
    warps_per_sm                  DOUBLE,
    est_occupancy_pct             DOUBLE,
    extra                         JSON
);

COMMENT ON TABLE kernel IS
    'One execution of a kernel.';
COMMENT ON COLUMN kernel.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN kernel.ts_ns IS 'Start, ns since the run''s origin (run.source_origin_ns).';
COMMENT ON COLUMN kernel.dur_ns IS 'Duration, ns; NULL where the source has no end.';
COMMENT ON COLUMN kernel.kernel_id IS 'Id of the kernel, unique in the run.';
COMMENT ON COLUMN kernel.name IS 'Demangled name with its template arguments.';
COMMENT ON COLUMN kernel.short_name IS 'Name without template and argument types.';
COMMENT ON COLUMN kernel.mangled_name IS 'Symbol name.';
COMMENT ON COLUMN kernel.device_id IS 'Device as the trace numbers it: device.device_id.';
COMMENT ON COLUMN kernel.context_id IS 'CUDA or HIP context; with stream_id it names a stream.';
COMMENT ON COLUMN kernel.stream_id IS 'Stream within the context.';
COMMENT ON COLUMN kernel.green_context_id IS 'Green context: a share of the device''s SMs.';
COMMENT ON COLUMN kernel.priority IS 'Priority of the stream; lower runs first in CUDA.';
COMMENT ON COLUMN kernel.pid IS 'Process that launched it.';
COMMENT ON COLUMN kernel.correlation_id IS
    'Number that the source gives to launch and execution, per process; NULL for none.';
COMMENT ON COLUMN kernel.api_call_id IS
    'The outermost host call that launched it: api_call.api_call_id; NULL for an orphan.';
COMMENT ON COLUMN kernel.launch_ts_ns IS
    'Start of that call, ns since the run''s origin; NULL for an orphan.';
COMMENT ON COLUMN kernel.op_id IS 'The framework operation that launched it: op.op_id.';
COMMENT ON COLUMN kernel.graph_id IS 'CUDA graph that it ran in.';
COMMENT ON COLUMN kernel.graph_node_id IS 'Node of that graph.';
COMMENT ON COLUMN kernel.grid_id IS 'Number that the driver gave to the grid.';
COMMENT ON COLUMN kernel.launch_type IS 'regular, cooperative or cooperative_multi_device.';
COMMENT ON COLUMN kernel.grid_x IS 'Blocks in the grid, x.';
COMMENT ON COLUMN kernel.grid_y IS 'Blocks in the grid, y.';
COMMENT ON COLUMN kernel.grid_z IS 'Blocks in the grid, z.';
COMMENT ON COLUMN kernel.block_x IS 'Threads in a block, x.';
COMMENT ON COLUMN kernel.block_y IS 'Threads in a block, y.';
COMMENT ON COLUMN kernel.block_z IS 'Threads in a block, z.';
COMMENT ON COLUMN kernel.cluster_x IS 'Blocks in a cluster, x.';
COMMENT ON COLUMN kernel.cluster_y IS 'Blocks in a cluster, y.';
COMMENT ON COLUMN kernel.cluster_z IS 'Blocks in a cluster, z.';
COMMENT ON COLUMN kernel.registers_per_thread IS 'Registers of a thread.';
COMMENT ON COLUMN kernel.static_shared_memory_bytes IS 'Static shared memory of a block, bytes.';
COMMENT ON COLUMN kernel.dynamic_shared_memory_bytes IS 'Dynamic shared memory of a block, bytes.';
COMMENT ON COLUMN kernel.shared_memory_bytes IS
    'Shared memory of a block, static and dynamic, where the source states but the sum, bytes.';
COMMENT ON COLUMN kernel.local_memory_per_thread_bytes IS 'Local memory of a thread, bytes.';
COMMENT ON COLUMN kernel.local_memory_total_bytes IS 'Local memory reserved for the kernel, bytes.';
COMMENT ON COLUMN kernel.blocks_per_sm IS 'Blocks over SMs, as the source states it.';
COMMENT ON COLUMN kernel.warps_per_sm IS 'Warps over SMs, as the source states it.';
COMMENT ON COLUMN kernel.est_occupancy_pct IS
    'Estimated achieved occupancy, per cent, as the source states it.';
COMMENT ON COLUMN kernel.extra IS 'Source fields that no column holds.';
