export { explain, type RuleFinding } from "./explain.js";
export { createObservation } from "./finding.js";
export type { Thresholds } from "./thresholds.js";
