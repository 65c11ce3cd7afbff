import type { Cause, Fix } from "../../causes/cause-table.js";
import { fixField, fixVariable } from "../../causes/fixes.js";
import { states } from "../../causes/peer-text.js";
import { shellWord } from "../../command-line.js";
import { significantLines } from "../../process/process-outcome.js";
import { isSecretName } from "../../secrets/recognize-secrets.js";
import type { ChildEvidence, FailureEvidence, WalkEvidence } from "../evidence.js";

/** Why the process of a stdio server cannot be used. */
export function childCauses(seen: WalkEvidence): Cause[] {
  const { child, attempt } = seen;
  if (child === undefined) return [];
  if (child.notStarted !== undefined) return [notStarted(seen, child)];
  const failure = attempt?.failure;
  if (failure === undefined) return [];
  const base = { problem: failure.message, evidence: lastOutput(child) };
  const runManually: Fix = { advice: "Run the command by hand to see why.", command: runByHand(child) };
  const variables = [...missingVariables(seen, child), ...withheldVariables(seen, child)];
  switch (failure.code) {
    case "CHILD_EXITED":
      return [...variables, { ...base, code: "child-exits", weight: 0.9, fix: runManually }];
    case "CONNECTION_LOST":
      return [{ ...base, code: "child-exits", weight: 0.8, fix: runManually }];
    case "CALL_TIMEOUT": {
      if (child.strayOutput !== undefined) return [logsToStdout(child, failure)];
      const advice = "Check that command and args start a server that uses standard input and output.";
      return [...variables, { ...base, code: "child-silent", weight: 0.9, fix: fixField(seen, "command", advice) }];
    }
    case "NOT_A_TOOL_SERVER":
      return child.strayOutput === undefined ? protocolCauses(seen, child, failure) : [logsToStdout(child, failure)];
    default:
      return protocolCauses(seen, child, failure);
  }
}

function logsToStdout(child: ChildEvidence, { message }: FailureEvidence): Cause {
  const advice = "Configure it to log to standard error: standard output is only for protocol messages.";
  const evidence = [`The first line on standard output: ${child.strayOutput}`, ...lastOutput(child)];
  const fix = { advice, command: runByHand(child) };
  return { code: "child-logs-to-stdout", weight: 0.95, problem: message, evidence, fix };
}

function protocolCauses(seen: WalkEvidence, child: ChildEvidence, { message, said = "" }: FailureEvidence): Cause[] {
  const base = { weight: 0.8, problem: message, evidence: lastOutput(child) };
  if (states(said, "credential-rejected")) {
    const variable = seen.variables.find(isSecretName);
    const fix =
      variable === undefined
        ? fixField(seen, "entry", "Add a credential to env of the entry, or correct the one there.")
        : fixVariable(variable, `Set ${variable} to the current credential: the server rejects the one it has.`);
    return [{ ...base, code: "token-refused", fix }];
  }
  const fix = { advice: "Update the server, or report its response to its maintainers." };
  return [{ ...base, code: states(said, "version-unsupported") ? "version-unsupported" : "response-invalid", fix }];
}

function notStarted(seen: WalkEvidence, { command, notStarted: reason, searched, path }: ChildEvidence): Cause {
  const base = { weight: 1, evidence: [] };
  if (reason === "not-executable") {
    const advice = "Make it executable, or write the program that runs it into command.";
    const fix = { advice, command: `chmod +x ${shellWord(path ?? command)}` };
    return { ...base, code: "command-not-executable", problem: `${command} exists, but is not executable.`, fix };
  }
  const failure = seen.attempt?.failure;
  if (reason === "not-started" && failure?.advice) {
    const fix = fixField(seen, "command", failure.advice);
    return { ...base, code: "command-not-executable", problem: failure.message, fix };
  }
  const isSearched = searched.length > 0;
  const isLine = /\s/.test(command);
  const advice = isLine
    ? "Write only the program into command, and each argument into args: no shell splits the line."
    : isSearched
      ? "Install it, or write its full path. Programs started from a desktop have a shorter PATH than a terminal."
      : "Write the path of an existing program.";
  return {
    ...base,
    code: "command-not-found",
    problem:
      reason === "not-started"
        ? (failure?.message ?? `The command ${command} cannot be started.`)
        : `The command ${command} was not found.`,
    evidence: isSearched ? [`PATH searched: ${searched.join(":")}`] : [],
    fix: {
      ...fixField(seen, "command", advice),
      command: isSearched && !isLine ? `command -v ${shellWord(command)}` : undefined,
    },
  };
}

/** Variables that the output of the process says are missing. */
function missingVariables(seen: WalkEvidence, child: ChildEvidence): Cause[] {
  return child.missing.map(({ variable, isSetHere }, index) => {
    const state = isSetHere
      ? "is set here, but the entry does not pass it on"
      : "is not set, and the entry does not pass it on";
    return {
      code: "child-lacks-variable",
      weight: 0.95 - index / 100,
      problem: `The process requires ${variable}, which ${state}. A process gets only the variables in env and a few basic ones.`,
      evidence: lastOutput(child),
      fix: {
        ...passOn(seen, variable, "Pass it on in env."),
        ...(isSetHere ? {} : { command: `export ${variable}=…`, variable }),
      },
    };
  });
}

/** Variables that the process did not get because they contain a credential. Silence and network errors of a launcher suggest it. */
function withheldVariables(seen: WalkEvidence, child: ChildEvidence): Cause[] {
  const [variable] = child.withheld;
  if (variable === undefined) return [];
  const isLikely = child.exit === undefined || child.stderr.some((line) => states(line, "network-trouble"));
  const problem = `The process did not get ${child.withheld.join(", ")}: the value contains a credential, so only the entry can pass it on.`;
  const fix = passOn(seen, variable, "Pass it on in env if the process may have it.");
  const weight = isLikely ? 0.93 : 0.5;
  return [{ code: "child-lacks-variable", weight, problem, evidence: lastOutput(child), fix }];
}

function passOn(seen: WalkEvidence, variable: string, advice: string): Fix {
  return fixField(seen, "entry", advice, `"env": {"${variable}": "\${${variable}}"}`);
}

function lastOutput({ stderr, exit, path, command }: ChildEvidence): string[] {
  const lines = significantLines(stderr, 5).map((line) => `stderr: ${line}`);
  return [
    `The command is ${path ?? command}.`,
    ...(exit === undefined
      ? []
      : [exit.kind === "exited" ? `It exited with code ${exit.code}.` : `It was terminated by ${exit.signal}.`]),
    ...(lines.length === 0 ? ["It wrote nothing to standard error."] : lines),
  ];
}

/** A command that does the same in any folder, once the user has filled in the secrets. */
function runByHand({ cwd, env = [], path, command, args = [] }: ChildEvidence): string {
  // A shell assigns only to names of this form; `env` takes any.
  const areNames = env.every(({ name }) => /^[A-Za-z_]\w*$/.test(name));
  const variables = env.map(({ name, value = "…" }) =>
    areNames ? `${name}=${shellWord(value)}` : shellWord(`${name}=${value}`),
  );
  const run = [...(areNames ? [] : ["env"]), ...variables, ...[path ?? command, ...args].map(shellWord)].join(" ");
  return cwd === undefined ? run : `cd ${shellWord(cwd)} && ${run}`;
}
