import { printableText } from "@wirescope/channelz/internal";
import {
  type Cause,
  type CheckOutcome,
  causeTable,
  type Explanation,
  type Fix,
  type Note,
  type Step,
} from "@wirescope/tool-server/why";
import type { Palette, Screen } from "../output/screen.js";
import { displayWidth, wrap } from "../output/text-layout.js";

/** The number of causes shown after the first; `--json` has them all. */
const maxOthers = 3;

/** The lines of an explanation: the likeliest cause with its evidence and fix, other causes in short, then the steps. */
export function renderExplanation(explanation: Explanation, screen: Screen): string[] {
  const { palette } = screen;
  const { server, causes, notes, steps } = explanation;
  const [first, ...others] = causes;
  const name = printableText(server);
  return [
    ...(first === undefined
      ? [`${palette.good("✓")} ${palette.strong(name)} works.`]
      : renderFirst(name, first, screen)),
    ...(others.length === 0 ? [] : ["", palette.strong("Other possible causes:")]),
    ...others.slice(0, maxOthers).flatMap((cause) => renderOther(cause, screen)),
    ...notes.flatMap((note) => renderNote(note, screen)),
    "",
    palette.strong("Steps:"),
    ...renderSteps(steps, screen),
  ];
}

function renderFirst(name: string, cause: Cause, screen: Screen): string[] {
  const { palette, width } = screen;
  const title = `${name}: ${causeTable[cause.code]}`;
  const which = `(${cause.code}, ${likelihood(cause)})`;
  const [first = "", ...rest] = wrap(title, width, "  ");
  const head = [`${palette.bad("✗")} ${palette.strong(first.trimStart())}`, ...rest.map(palette.strong)];
  const isTooLong = width !== undefined && displayWidth(`${rest.at(-1) ?? first} ${which}`) > width;
  return [
    ...(isTooLong
      ? [...head, `  ${palette.faint(which)}`]
      : [...head.slice(0, -1), `${head.at(-1)} ${palette.faint(which)}`]),
    "",
    ...wrap(printableText(cause.problem), width, "  "),
    ...cause.evidence.flatMap((line) => wrap(printableText(line), width, "    ").map(palette.faint)),
    "",
    ...renderFix(cause.fix, screen),
  ];
}

function renderOther(cause: Cause, screen: Screen): string[] {
  const { palette, width } = screen;
  const head = `${cause.code} (${likelihood(cause)}): ${printableText(cause.problem)}`;
  return [...wrap(head, width, "  "), ...renderFix(cause.fix, { ...screen, palette }).map((line) => `  ${line}`)];
}

function renderNote({ problem, fix }: Note, screen: Screen): string[] {
  return ["", ...wrap(`Note: ${printableText(problem)}`, screen.width, ""), ...renderFix(fix, screen)];
}

/** What to do, then the command alone on its line, so that it can be copied. */
export function renderFix({ advice, command, position, write }: Fix, { palette, width }: Screen): string[] {
  const where = position === undefined ? "" : `${printableText(position.file)}:${position.line}:${position.column}: `;
  return [
    ...wrap(`→ ${where}${printableText(advice)}`, width, "  ").map(palette.good),
    ...(write === undefined ? [] : [`    ${printableText(write)}`]),
    ...(command === undefined ? [] : [`    ${palette.strong(printableText(command))}`]),
  ];
}

function renderSteps(steps: readonly Step[], screen: Screen): string[] {
  const { palette, width } = screen;
  const nameWidth = Math.max(...steps.map(({ step }) => step.length));
  return steps.flatMap(({ step, outcome, evidence }) => {
    const [first = "", ...rest] = evidence.map((line) => printableText(line));
    const indent = " ".repeat(nameWidth + 6);
    // A step that succeeded takes one line.
    const lines = outcome === "failed" ? [first, ...rest] : [first];
    const [head = "", ...more] = lines.flatMap((line) => wrap(line, width, indent));
    const label = `  ${markOf(outcome, palette)} ${step.padEnd(nameWidth)}`;
    return [`${label}  ${palette.faint(head.trimStart())}`.trimEnd(), ...more.map(palette.faint)];
  });
}

/** How likely a cause is, in one word. */
function likelihood({ weight }: Cause): string {
  if (weight >= 0.9) return "found";
  return weight >= 0.6 ? "likely" : "possible";
}

/** The mark of an outcome in a checklist. */
export function markOf(outcome: CheckOutcome, { good, bad, faint }: Palette): string {
  if (outcome === "ok") return good("✓");
  return outcome === "failed" ? bad("✗") : faint("-");
}
