export type { Cause, Fix } from "../causes/cause-table.js";
export { type CauseCode, causeTable } from "../causes/cause-table.js";
export type {
  CheckOutcome,
  ExplainOAuth,
  ExplainOptions,
  Explanation,
  Note,
  Requirement,
  Step,
  StepName,
} from "./explanation.js";
export { explainServer } from "./lazy-explain.js";
