import type { ChannelzPackage } from "../channelz-package.js";
import type { ChannelzError } from "../errors.js";
import { addressChecks } from "./address-checks.js";
import type { ExaminationLimits } from "./bounded-source.js";
import { channelChecks } from "./channel-checks.js";
import { listChecks } from "./list-checks.js";
import { type Endpoint, observe } from "./observe.js";
import type { Check, CheckResult } from "./result.js";
import { serviceChecks } from "./service-checks.js";
import { socketChecks } from "./socket-checks.js";

/** Every check, in the order of the report. */
export const conformanceChecks: readonly Check[] = [
  ...serviceChecks,
  ...listChecks,
  ...channelChecks,
  ...socketChecks,
  ...addressChecks,
];

/** A check with its result. */
export interface CheckedRule extends CheckResult, Pick<Check, "id" | "title" | "level"> {}

/** The result of all checks of an endpoint. */
export interface ConformanceReport {
  readonly channelzPackage: ChannelzPackage;
  readonly rules: readonly CheckedRule[];
  /** Whether no rule of the specification is violated. Recommendations do not count. */
  readonly conforms: boolean;
  /** The number of calls made. */
  readonly calls: number;
  /** Why the examination ended early; the results are then based on what was read before. */
  readonly stoppedBy?: ChannelzError | undefined;
}

/**
 * Examines a Channelz endpoint, rule by rule. It only reads, one call at a time, within the limits. Rejects with a ChannelzError if
 * the endpoint cannot be reached, denies access, or does not serve Channelz.
 */
export async function checkConformance(endpoint: Endpoint, limits: ExaminationLimits = {}): Promise<ConformanceReport> {
  const observations = await observe(endpoint, limits);
  const { channelzPackage, calls, stoppedBy } = observations;
  const rules = conformanceChecks.map(({ id, title, level, run }) => ({ id, title, level, ...run(observations) }));
  const conforms = rules.every(({ level, outcome }) => level !== "specification" || outcome !== "failed");
  return { channelzPackage, rules, conforms, calls, stoppedBy };
}
