"""Experiments: one scenario under several conditions, with the same seeds in each, and whether they differ.

experiment = read_experiment(Path("market.yaml"))
with ProcessExecutor(2) as executor:
    result = ExperimentRun(experiment, Path("results"), executor, progress).run()
analysis = analyse(result)
"""
