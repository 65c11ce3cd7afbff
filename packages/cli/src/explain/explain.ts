import { connectionRules } from "./connection-rules.js";
import { type Finding, type Observation, type Rule, severities } from "./finding.js";
import { socketRules } from "./socket-rules.js";
import { trafficRules } from "./traffic-rules.js";

/** All rules; docs/explain.md has the same table. */
export const rules: readonly Rule[] = [...connectionRules, ...trafficRules, ...socketRules];

/** A finding with its rule. */
export interface RuleFinding extends Finding {
  readonly rule: string;
}

/** A hostile or broken process must not fill the terminal. */
const maxPerRule = 20;

/** Applies all rules. The worst findings come first, then those that began first. */
export function explain(seen: Observation): { readonly findings: readonly RuleFinding[]; readonly omitted: number } {
  let omitted = 0;
  const findings = rules.flatMap(({ id, find }) => {
    const found = find(seen);
    omitted += Math.max(0, found.length - maxPerRule);
    return found.slice(0, maxPerRule).map((finding) => ({ ...finding, rule: id }));
  });
  const startOf = ({ since }: Finding): number => since?.getTime() ?? Number.POSITIVE_INFINITY;
  findings.sort(
    (a, b) =>
      severities.indexOf(a.severity) - severities.indexOf(b.severity) || Math.sign(startOf(a) - startOf(b)) || 0,
  );
  return { findings, omitted };
}
