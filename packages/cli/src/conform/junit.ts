import type { TargetReport } from "./target-report.js";

/** The reports as a JUnit file, which CI systems read: a suite for each target, a case for each rule. */
export function toJunit(reports: readonly TargetReport[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${reports.map(suite).join("")}</testsuites>\n`;
}

function suite({ target, report, error }: TargetReport): string {
  if (report === undefined) {
    const failure = `    <error message="${escapeXml(error.message)}"/>\n`;
    return (
      `  <testsuite name="${escapeXml(target)}" tests="1" failures="0" errors="1" skipped="0">\n` +
      `  <testcase classname="wirescope.conform" name="the endpoint can be examined">\n${failure}  </testcase>\n  </testsuite>\n`
    );
  }
  const { rules } = report;
  const isFailure = ({ level, outcome }: (typeof rules)[number]): boolean =>
    outcome === "failed" && level === "specification";
  const failures = rules.filter(isFailure).length;
  const skipped = rules.filter((rule) => rule.outcome !== "passed" && !isFailure(rule)).length;
  const cases = rules.map((rule) => {
    const open = `  <testcase classname="wirescope.conform" name="${escapeXml(`${rule.id} ${rule.title}`)}"`;
    if (rule.outcome === "passed") return `${open}/>\n`;
    // A recommendation that is not followed must not fail a build.
    const element = isFailure(rule) ? "failure" : "skipped";
    return `${open}>\n    <${element} message="${escapeXml(rule.evidence)}"/>\n  </testcase>\n`;
  });
  return (
    `  <testsuite name="${escapeXml(target)}" tests="${rules.length}" failures="${failures}" errors="0" skipped="${skipped}">\n` +
    `${cases.join("")}  </testsuite>\n`
  );
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text in an attribute. Characters that XML cannot hold are replaced. */
function escapeXml(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 has no form for them
  const held = text.replace(/[\u0000-\u001f\ufffe\uffff\p{Cs}]/gu, "\ufffd");
  return held.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}
