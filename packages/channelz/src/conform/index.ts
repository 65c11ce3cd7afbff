export type { ExaminationLimits } from "./bounded-source.js";
export { type CheckedRule, type ConformanceReport, checkConformance, conformanceChecks } from "./conform.js";
export type { Endpoint } from "./observe.js";
export type { Check, CheckResult } from "./result.js";
