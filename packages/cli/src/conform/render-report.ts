import type { JsonObject } from "@bufbuild/protobuf";
import type { CheckedRule } from "@wirescope/channelz/conform";
import { printableText } from "@wirescope/channelz/internal/text";
import type { Screen } from "../output/screen.js";
import { reasonWithout } from "../output/silent-target.js";
import { wrap } from "../output/text-layout.js";
import type { TargetReport } from "./target-report.js";

/** The lines of one report: rules that are broken first, then a summary. */
export function reportLines({ target, report, error }: TargetReport, screen: Screen, isFull: boolean): string[] {
  const { palette } = screen;
  const title = palette.strong(printableText(target));
  if (report === undefined) {
    return [`${title}  ${palette.bad("not examined")}: ${printableText(reasonWithout(target, error))}`];
  }
  const { rules, conforms, calls, stoppedBy, channelzPackage } = report;
  const verdict = conforms ? palette.good("conforms") : palette.bad("deviates");
  const groups = [
    ["deviates from the specification", rulesWith(rules, "specification", "failed"), palette.bad],
    [
      "differs from the recommendation, where the specification is open",
      rulesWith(rules, "recommendation", "failed"),
      palette.warning,
    ],
    ...(isFull
      ? ([
          ["passed", rules.filter(({ outcome }) => outcome === "passed"), palette.good],
          ["not applicable", rules.filter(({ outcome }) => outcome === "not-applicable"), palette.faint],
        ] as const)
      : []),
  ] as const;
  return [
    `${title}  ${channelzPackage}  ${verdict}`,
    ...groups.flatMap(([heading, group, paint]) => ruleLines(heading, group, paint, screen.width)),
    `  ${summary(rules)}, ${calls} calls`,
    ...(stoppedBy === undefined ? [] : [palette.warning(`  ended early: ${printableText(stoppedBy.message)}`)]),
  ];
}

function rulesWith(
  rules: readonly CheckedRule[],
  level: CheckedRule["level"],
  outcome: CheckedRule["outcome"],
): CheckedRule[] {
  return rules.filter((rule) => rule.level === level && rule.outcome === outcome);
}

function ruleLines(
  heading: string,
  rules: readonly CheckedRule[],
  paint: (text: string) => string,
  width: number | undefined,
): string[] {
  if (rules.length === 0) return [];
  return [
    `  ${heading}`,
    ...rules.flatMap(({ id, title, evidence }) => [
      `    ${paint(id)}  ${title}`,
      ...wrap(printableText(evidence), width, "      "),
    ]),
  ];
}

function summary(rules: readonly CheckedRule[]): string {
  const count = (outcome: CheckedRule["outcome"]): number => rules.filter((rule) => rule.outcome === outcome).length;
  return `${rules.length} rules: ${count("passed")} passed, ${count("failed")} failed, ${count("not-applicable")} not applicable`;
}

/** One report as JSON. */
export function reportToJson({ target, report, error }: TargetReport): JsonObject {
  if (report === undefined) return { target, error: error.message, code: error.code };
  const { channelzPackage, conforms, calls, stoppedBy, rules } = report;
  return {
    target,
    package: channelzPackage,
    conforms,
    calls,
    ...(stoppedBy === undefined ? {} : { stoppedBy: stoppedBy.message }),
    rules: rules.map(({ id, title, level, outcome, evidence }) => ({ id, title, level, outcome, evidence })),
  };
}
