import { printableText } from "../text/index.js";
import type { Observations } from "./observations.js";

/** The result of one check. */
export interface CheckResult {
  readonly outcome: "passed" | "failed" | "not-applicable";
  /** How much was checked, or what violates the rule. */
  readonly evidence: string;
}

/** A rule, as a function of the observations of an endpoint. */
export interface Check {
  /** The id of the rule in docs/requirements/channelz.md. */
  readonly id: string;
  readonly title: string;
  /** Whether the specification requires it, or leaves it open and we recommend it. */
  readonly level: "specification" | "recommendation";
  run(observations: Observations): CheckResult;
}

const maxShown = 3;
const maxViolationLength = 240;

/** The rule holds for everything that was checked. */
export function passed(evidence: string): CheckResult {
  return { outcome: "passed", evidence };
}

/** There was nothing to check. */
export function notApplicable(evidence: string): CheckResult {
  return { outcome: "not-applicable", evidence };
}

/** The rule is violated in each of these ways. */
export function failed(violations: readonly string[]): CheckResult {
  const shown = violations.slice(0, maxShown).map((each) => printableText(each, maxViolationLength));
  const rest = violations.length > maxShown ? `; and ${violations.length - maxShown} more` : "";
  return { outcome: "failed", evidence: shown.join("; ") + rest };
}

/** Checks each item; `violation` returns how it violates the rule. `what` is the plural name of the items. */
export function checkEach<T>(
  items: readonly T[],
  what: string,
  violation: (item: T) => string | readonly string[] | undefined,
): CheckResult {
  if (items.length === 0) return notApplicable(`no ${what}`);
  const violations = items.flatMap((item) => violation(item) ?? []);
  return violations.length === 0 ? passed(`${items.length} ${what}`) : failed(violations);
}

/** Returns a function that creates checks of one level. */
export const check =
  (level: Check["level"]) =>
  (id: string, title: string, run: Check["run"]): Check => ({ id, title, level, run });
