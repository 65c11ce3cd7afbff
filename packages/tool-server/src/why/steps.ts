import { tellingLines } from "../process/process-output.js";
import type { Outcome, Step, StepName } from "./explanation.js";
import type { WalkFacts } from "./facts.js";
import { networkSteps } from "./network-steps.js";
import { spokenEvidence } from "./spoken-evidence.js";

/** The walk as a list: each step that belongs to the type of the server, how it went, and what was seen. */
export function stepsOf(facts: WalkFacts): Step[] {
  const before = [configurationStep(facts), variablesStep(facts), trustStep(facts)];
  return [...before, ...(facts.type === "stdio" ? childSteps(facts) : networkSteps(facts))];
}

function step(name: StepName, outcome: Outcome, ...evidence: readonly (string | undefined)[]): Step {
  return { step: name, outcome, evidence: evidence.filter((line) => line !== undefined) };
}

function configurationStep({ findings, file, places, type }: WalkFacts): Step {
  const isBroken = findings.some(({ severity }) => severity === "error");
  const line = places.entry?.line;
  const place = `${file}${line === undefined ? "" : `:${line}`}`;
  const what = type === undefined ? "The entry cannot be understood." : `An entry of the type ${type}.`;
  const list = findings.map((finding) => `line ${finding.line}, ${finding.severity}: ${finding.message}`);
  return step("configuration", isBroken ? "failed" : "ok", `${place}: ${what}`, ...list);
}

function variablesStep({ values, variables, findings }: WalkFacts): Step {
  const isBroken = values.some(({ severity }) => severity === "error");
  if (findings.some(({ severity }) => severity === "error") && values.length === 0) return step("variables", "skipped");
  if (variables.length === 0 && values.length === 0) return step("variables", "skipped", "The entry uses none.");
  const list = values.map(({ severity, message }) => `${severity}: ${message}`);
  const named = `It uses ${variables.join(", ")}${list.length === 0 ? "; all can be used" : ""}.`;
  return step("variables", isBroken ? "failed" : "ok", named, ...list);
}

function trustStep({ trust }: WalkFacts): Step {
  if (trust === undefined) return step("trust", "skipped", "An entry with errors is not judged.");
  return step("trust", trust.state === "trusted" ? "ok" : "failed", trust.words);
}

function childSteps({ child, attempt }: WalkFacts): Step[] {
  if (child === undefined) return (["command", "process", "protocol"] as const).map((name) => step(name, "skipped"));
  const { command, path, searched, notStarted, exit, stderr, stray } = child;
  const found = path ?? `${command}${searched.length === 0 ? "" : `; PATH searched: ${searched.join(":")}`}`;
  const isThere = path !== undefined;
  const failure = attempt?.failure;
  const isRunning = isThere && notStarted === undefined && exit === undefined;
  const words = tellingLines(stderr, 3).map((line) => `stderr: ${line}`);
  const strayed = stray === undefined ? undefined : `On its standard output, and no message: ${stray}`;
  const ended = exit === undefined ? "It was started." : failure?.message;
  return [
    step("command", isThere ? "ok" : "failed", found),
    isThere ? step("process", isRunning ? "ok" : "failed", ended, ...words) : step("process", "skipped"),
    !isRunning
      ? step("protocol", "skipped", strayed)
      : failure === undefined
        ? step("protocol", "ok", spokenEvidence(attempt?.connected), strayed)
        : step("protocol", "failed", failure.message, strayed),
  ];
}
