export { type CauseCode, causeTable } from "./cause-table.js";
export type { ExplainOAuth, ExplainOptions } from "./explain-options.js";
export { explainServer } from "./explain-server.js";
export type { Cause, Demand, Explanation, Mend, Outcome, Step, StepName } from "./explanation.js";
export type { WalkFacts } from "./facts.js";
export { rankCauses } from "./rank/rank-causes.js";
