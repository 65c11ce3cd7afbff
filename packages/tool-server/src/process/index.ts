export { type BackOff, type BackOffLimits, createBackOff } from "../back-off.js";
export { type Clock, systemClock } from "../clock.js";
export {
  childEnvironment,
  type Environment,
  inheritedVariables,
  scrubbedEnvironment,
  withheldVariables,
} from "./child-environment.js";
export {
  describeOutcome,
  type NotStarted,
  type ProcessExit,
  type ProcessOutcome,
  type ProcessRemains,
  type ProcessStop,
} from "./process-outcome.js";
export { type ResolvedCommand, resolveCommand } from "./resolve-command.js";
export { type RunOptions, runProcess } from "./run-process.js";
export { ownFolders } from "./sandbox.js";
export { type RunningProcess, type StartOptions, startProcess } from "./start-process.js";
