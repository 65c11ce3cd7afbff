export { type AppliedCorrection, type CorrectionId, carryCorrections, correctionsOf } from "../correction-marks.js";
export type { OwnConnection } from "../own-connection.js";
export { type CorrectSourceOptions, correctSource } from "./correct-source.js";
export { type Correction, corrections } from "./correction-table.js";
