"""Behaviour trees: nodes, their compiler, drawings, and BehaviorTree.CPP files."""
