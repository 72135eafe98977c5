"""The models of n8n: a module for each tag, and `shared` for what tags share.

They are `TypedDict`s, so that absent (`NotRequired`) and null (`| None`) stay apart. They type the
handlers; what is valid is decided by the JSON Schemas beside the tools. Import them from here: a
model moves between the modules when tags do.
"""

from n8n_mcp._generated.models.credentials import Credential, TransferCredentialBody
from n8n_mcp._generated.models.executions import (
    Execution,
    ListExecutionsResult,
    RetryExecutionBody,
    StopExecutionResult,
)
from n8n_mcp._generated.models.instance import (
    AuditInstanceBody,
    AuditInstanceBodyAdditionalOptions,
    PullSourceControlBody,
)
from n8n_mcp._generated.models.projects import (
    CreateProjectBody,
    ListProjectsResult,
    Project,
    RenameProjectBody,
)
from n8n_mcp._generated.models.shared import Tag
from n8n_mcp._generated.models.tags import CreateTagBody, ListTagsResult, RenameTagBody
from n8n_mcp._generated.models.variables import (
    CreateVariableBody,
    ListVariablesResult,
    UpdateVariableBody,
    Variable,
)
from n8n_mcp._generated.models.workflows import (
    Node,
    Settings,
    SetWorkflowTagsBodyItem,
    TransferWorkflowBody,
    Workflow,
    WorkflowDraft,
    WorkflowPage,
)

__all__ = [
    "AuditInstanceBody",
    "AuditInstanceBodyAdditionalOptions",
    "CreateProjectBody",
    "CreateTagBody",
    "CreateVariableBody",
    "Credential",
    "Execution",
    "ListExecutionsResult",
    "ListProjectsResult",
    "ListTagsResult",
    "ListVariablesResult",
    "Node",
    "Project",
    "PullSourceControlBody",
    "RenameProjectBody",
    "RenameTagBody",
    "RetryExecutionBody",
    "SetWorkflowTagsBodyItem",
    "Settings",
    "StopExecutionResult",
    "Tag",
    "TransferCredentialBody",
    "TransferWorkflowBody",
    "UpdateVariableBody",
    "Variable",
    "Workflow",
    "WorkflowDraft",
    "WorkflowPage",
]
