"""The express lane: the commit protocol written flat for the case that is simulated most, and how its runs are told."""

from endive.express.lane import Lane, execute, lane_of, takes
from endive.express.story import Story

__all__ = ["Lane", "Story", "execute", "lane_of", "takes"]
