"""The former place of `mcpgen.testing`; tests of packages made before 0.5 import from it."""

from mcpgen.testing import LEGACY as LEGACY
from mcpgen.testing import MODERN as MODERN
from mcpgen.testing import CannotSampleError as CannotSampleError
from mcpgen.testing import Case as Case
from mcpgen.testing import CaseResult as CaseResult
from mcpgen.testing import Client as Client
from mcpgen.testing import ConnectionLostError as ConnectionLostError
from mcpgen.testing import MockUpstream as MockUpstream
from mcpgen.testing import NoAnswerError as NoAnswerError
from mcpgen.testing import RecordedRequest as RecordedRequest
from mcpgen.testing import Reply as Reply
from mcpgen.testing import RpcError as RpcError
from mcpgen.testing import Suite as Suite
from mcpgen.testing import WorkflowCase as WorkflowCase
from mcpgen.testing import WorkflowSuite as WorkflowSuite
from mcpgen.testing import read_cases as read_cases
from mcpgen.testing import sample as sample
