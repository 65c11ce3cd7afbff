import { shellWord } from "../../command-line.js";
import { tellingLines } from "../../process/process-output.js";
import type { Cause, Mend } from "../explanation.js";
import type { ChildFacts, WalkFacts } from "../facts.js";
import { credentialHint, versionHint } from "./hints.js";
import { mendField, mendVariable } from "./mends.js";

/** Why the process of a stdio server is not one that can be spoken with. */
export function childCauses(facts: WalkFacts): Cause[] {
  const { child, attempt } = facts;
  if (child === undefined) return [];
  if (child.notStarted !== undefined) return [notStarted(facts, child)];
  const failure = attempt?.failure;
  if (failure === undefined) return [];
  const evidence = lastWords(child);
  const { message, said = "" } = failure;
  const byHand: Mend = { what: "Run the command by hand to see why.", command: commandLine(child) };
  if (failure.code === "CHILD_EXITED")
    return [
      ...missing(facts, child),
      ...withheld(facts, child),
      { cause: "child-exits", weight: 0.9, message, evidence, mend: byHand },
    ];
  if (child.stray !== undefined && (failure.code === "NOT_A_TOOL_SERVER" || failure.code === "CALL_TIMEOUT")) {
    const mend = {
      what: "Let it write its log to standard error: standard output is for messages alone.",
      command: commandLine(child),
    };
    const seen = [`The first line on its standard output: ${child.stray}`, ...evidence];
    return [{ cause: "child-logs-to-stdout", weight: 0.95, message, evidence: seen, mend }];
  }
  if (failure.code === "CALL_TIMEOUT") {
    const what = "Check that command and args start a server that speaks over its standard input and output.";
    return [
      ...missing(facts, child),
      ...withheld(facts, child),
      { cause: "child-silent", weight: 0.9, message, evidence, mend: mendField(facts, "command", what) },
    ];
  }
  if (failure.code === "CONNECTION_LOST")
    return [{ cause: "child-exits", weight: 0.8, message, evidence, mend: byHand }];
  const report = { what: "Update the server, or tell its maintainers what it answers." };
  if (credentialHint.test(said)) {
    const [variable] = facts.variables;
    const what = "Set it to the current credential: the server refuses what it got.";
    const mend =
      variable === undefined
        ? mendField(facts, "entry", "Give it a credential, in env.")
        : mendVariable(variable, what);
    return [{ cause: "token-refused", weight: 0.8, message, evidence, mend }];
  }
  const cause = versionHint.test(said) ? "wrong-era" : "answer-invalid";
  return [{ cause, weight: 0.8, message, evidence, mend: report }];
}

function notStarted(facts: WalkFacts, { command, notStarted: why, searched, path }: ChildFacts): Cause {
  if (why === "not-executable") {
    const mend = {
      what: "Make it executable, or name the program that runs it.",
      command: `chmod +x ${shellWord(path ?? command)}`,
    };
    return {
      cause: "command-not-executable",
      weight: 1,
      message: `${command} is there, and cannot be run.`,
      evidence: [],
      mend,
    };
  }
  const { failure } = facts.attempt ?? {};
  if (why === "not-started" && failure?.advice) {
    const mend = mendField(facts, "command", failure.advice);
    return { cause: "command-not-executable", weight: 1, message: failure.message, evidence: [], mend };
  }
  const isSearched = searched.length > 0;
  const evidence = isSearched ? [`PATH was searched: ${searched.join(":")}`] : [];
  const what = /\s/.test(command)
    ? "Put the program alone into command, and each of its arguments into args: no shell takes the line apart."
    : isSearched
      ? "Install it, or write its full path. What a desktop starts has a shorter PATH than a terminal: compare."
      : "Write the path of a program that is there.";
  const command2 = isSearched && !/\s/.test(command) ? `command -v ${shellWord(command)}` : undefined;
  const mend = { ...mendField(facts, "command", what), command: command2 };
  const message =
    why === "not-started" ? (facts.attempt?.failure?.message ?? "") : `The command ${command} is not found.`;
  return { cause: "command-not-found", weight: 1, message, evidence, mend };
}

/** Variables that the last words miss. */
function missing(facts: WalkFacts, child: ChildFacts): Cause[] {
  return child.missing.map(({ variable, isSetHere }, index) => {
    const is = isSetHere
      ? "is set here, but the entry does not pass it on"
      : "is not set here, and the entry does not pass it on";
    return {
      cause: "child-lacks-variable",
      weight: 0.95 - index / 100,
      message: `The process misses ${variable}, which ${is}. A process gets the variables of env, and those that programs need to run.`,
      evidence: lastWords(child),
      mend: {
        ...mendField(facts, "entry", "Pass it on.", `"env": {"${variable}": "\${${variable}}"}`),
        ...(isSetHere ? {} : { command: `export ${variable}=…`, variable }),
      },
    };
  });
}

const networkTrouble =
  /\b(?:ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ECONNRESET|40[137]|proxy|certificate|network|timed? ?out)\b/i;

/** Variables that the process did not get because they hold a credential. Silence and network errors of a launcher point there. */
function withheld(facts: WalkFacts, child: ChildFacts): Cause[] {
  const [variable] = child.withheld;
  if (variable === undefined) return [];
  const isLikely = child.exit === undefined || child.stderr.some((line) => networkTrouble.test(line));
  return [
    {
      cause: "child-lacks-variable",
      weight: isLikely ? 0.93 : 0.5,
      message: `The process did not get ${child.withheld.join(", ")}: set here, but with a credential in it, so only the entry can pass it on.`,
      evidence: lastWords(child),
      mend: mendField(
        facts,
        "entry",
        "Pass it on if the process may have it.",
        `"env": {"${variable}": "\${${variable}}"}`,
      ),
    },
  ];
}

function lastWords({ stderr, exit, path, command }: ChildFacts): string[] {
  const how =
    exit === undefined
      ? []
      : [exit.kind === "exited" ? `It ended with code ${exit.code}.` : `It was ended by ${exit.signal}.`];
  const words = tellingLines(stderr, 5).map((line) => `stderr: ${line}`);
  return [
    `It is ${path ?? command}.`,
    ...how,
    ...(words.length === 0 ? ["It wrote nothing to standard error."] : words),
  ];
}

function commandLine({ path, command, args = [] }: ChildFacts): string {
  return [path ?? command, ...args].map(shellWord).join(" ");
}
