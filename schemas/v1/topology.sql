CREATE TABLE topology (
    run_id      VARCHAR NOT NULL,
    from_device VARCHAR NOT NULL,
    to_device   VARCHAR NOT NULL,
    kind        VARCHAR NOT NULL,
    extra       JSON
);

COMMENT ON TABLE topology IS
    'One link between two devices.';
COMMENT ON COLUMN topology.run_id IS 'The run: run.run_id.';
COMMENT ON COLUMN topology.from_device IS 'Device or NIC.';
COMMENT ON COLUMN topology.to_device IS 'Device or NIC.';
COMMENT ON COLUMN topology.kind IS 'NV and the number of links, PIX, PXB, PHB, NODE, SYS.';
COMMENT ON COLUMN topology.extra IS 'Source fields that no column holds.';
