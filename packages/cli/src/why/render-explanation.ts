import { printableText } from "@wirescope/channelz/internal";
import { type Cause, causeTable, type Explanation, type Mend, type Note, type Step } from "@wirescope/tool-server/why";
import type { Screen } from "../output/screen.js";
import { displayWidth, wrap } from "../output/text-layout.js";
import { markOf } from "./mark.js";

/** So many causes are told besides the first; scripts get them all. */
const mostOthers = 3;

/** The lines of an explanation: the likeliest cause with its evidence and its mend, others in short, then the walk. */
export function renderExplanation(explanation: Explanation, screen: Screen): string[] {
  const { palette } = screen;
  const { server, causes, notes, steps } = explanation;
  const [first, ...others] = causes;
  const name = printableText(server);
  return [
    ...(first === undefined
      ? [`${palette.good("✓")} ${palette.strong(name)} works.`]
      : renderFirst(name, first, screen)),
    ...(others.length === 0 ? [] : ["", palette.strong("It may also be:")]),
    ...others.slice(0, mostOthers).flatMap((cause) => renderOther(cause, screen)),
    ...notes.flatMap((note) => renderNote(note, screen)),
    "",
    palette.strong("The walk:"),
    ...renderSteps(steps, screen),
  ];
}

function renderFirst(name: string, cause: Cause, screen: Screen): string[] {
  const { palette, width } = screen;
  const title = `${name}: ${causeTable[cause.cause]}`;
  const which = `(${cause.cause}, ${likelihood(cause)})`;
  const [first = "", ...rest] = wrap(title, width, "  ");
  const head = [`${palette.bad("✗")} ${palette.strong(first.trimStart())}`, ...rest.map(palette.strong)];
  const isTooLong = width !== undefined && displayWidth(`${rest.at(-1) ?? first} ${which}`) > width;
  return [
    ...(isTooLong
      ? [...head, `  ${palette.faint(which)}`]
      : [...head.slice(0, -1), `${head.at(-1)} ${palette.faint(which)}`]),
    "",
    ...wrap(printableText(cause.message), width, "  "),
    ...cause.evidence.flatMap((line) => wrap(printableText(line), width, "    ").map(palette.faint)),
    "",
    ...renderMend(cause.mend, screen),
  ];
}

function renderOther(cause: Cause, screen: Screen): string[] {
  const { palette, width } = screen;
  const head = `${cause.cause} (${likelihood(cause)}): ${printableText(cause.message)}`;
  return [...wrap(head, width, "  "), ...renderMend(cause.mend, { ...screen, palette }).map((line) => `  ${line}`)];
}

function renderNote({ message, mend }: Note, screen: Screen): string[] {
  return ["", ...wrap(`Note: ${printableText(message)}`, screen.width, ""), ...renderMend(mend, screen)];
}

/** What to do, then the command alone on its line, so that it can be copied. */
function renderMend({ what, command, place, write }: Mend, { palette, width }: Screen): string[] {
  const where = place === undefined ? "" : `${printableText(place.file)}:${place.line}:${place.column}: `;
  return [
    ...wrap(`→ ${where}${printableText(what)}`, width, "  ").map(palette.good),
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
    // What went well is told in a line.
    const lines = outcome === "failed" ? [first, ...rest] : [first];
    const [head = "", ...more] = lines.flatMap((line) => wrap(line, width, indent));
    const label = `  ${markOf(outcome, palette)} ${step.padEnd(nameWidth)}`;
    return [`${label}  ${palette.faint(head.trimStart())}`.trimEnd(), ...more.map(palette.faint)];
  });
}

/** How likely a cause is, in a word. */
function likelihood({ weight }: Cause): string {
  if (weight >= 0.9) return "found";
  return weight >= 0.6 ? "likely" : "possible";
}
