"""The one part of the engine that touches the machine: running a checker apart from everything else."""
