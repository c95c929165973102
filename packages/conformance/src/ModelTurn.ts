/**
 * What a command does to stores: the same steps for the model and for the store that is compared
 * with it, made out of the model's state.
 *
 * Guarantees: a command keeps the contract of the ports (a node's row is written once, events are
 * numbered without gaps, a run is born once from each definition's content); only its expectations
 * may be wrong. Leaves out: comparing.
 */
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import type { AccountId, RunId } from "@millrace/core/domain/Id"
import type { Page, PageRequest, Position } from "@millrace/core/domain/Page"
import type { RunRecord } from "@millrace/core/domain/Run"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { Effect, Option } from "effect"
import * as Cast from "./ModelCast.ts"
import type {
  Asker,
  Command,
  KeyCommand,
  Listing,
  RunCommand,
  WorkflowCommand,
} from "./ModelCommands.ts"
import { commitOf } from "./ModelCommit.ts"
import type { StoreModel, Stores } from "./StoreModel.ts"
