"""XPlane: the profiler's own protobuf of TensorFlow, JAX and PyTorch/XLA.

The file is walked by its wire format, piece by piece, so that memory stays bounded;
names and facts go through the protobuf runtime, events through columns of numbers.
"""
