/**
 * All that is checked in a real browser, against a real server. The facts stand in files beside
 * this one; together they need one browser, one server and one built page.
 */
import { afterAll, beforeAll, vi } from "vitest"
import { approvalFacts } from "./ApprovalFacts.ts"
import { canvasFacts } from "./CanvasFacts.ts"
import { editorNodes } from "./EditorPage.ts"
import { inspectorFacts } from "./InspectorFacts.ts"
import { inspectorNodes } from "./InspectorPage.ts"
import { loopFacts } from "./LoopFacts.ts"
import { presenceFacts } from "./PresenceFacts.ts"
import { runNodes, runViewFacts } from "./RunViewFacts.ts"
import { savingFacts } from "./SavingFacts.ts"
import { patienceMillis, stage } from "./Stage.ts"
import { workflowEditorFacts } from "./WorkflowEditorFacts.ts"

vi.setConfig({ testTimeout: patienceMillis, hookTimeout: patienceMillis })

beforeAll(() => stage.open([...editorNodes, ...inspectorNodes, ...runNodes]))
afterAll(() => stage.close())

runViewFacts()
approvalFacts()
canvasFacts()
loopFacts()
inspectorFacts()
savingFacts()
presenceFacts()
workflowEditorFacts()
