export { type CauseCode, causeTable } from "./cause-table.js";
export type { ExplainOAuth, ExplainOptions } from "./explain-options.js";
export type { Cause, Demand, Explanation, Mend, Note, Outcome, Step, StepName } from "./explanation.js";
export type { WalkFacts } from "./facts.js";
export { explainServer } from "./lazy-explain.js";
