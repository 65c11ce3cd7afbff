import type { Cause, CauseCode, Fix } from "../../causes/cause-table.js";
import { fixByCommand, fixField, fixHelper, fixVariable } from "../../causes/fixes.js";
import { commandLine, shellWord } from "../../command-line.js";
import type { Finding } from "../../config/finding.js";
import { disabledParts } from "../../config/parse-configuration.js";
import type { RuleCode } from "../../config/rules.js";
import { inputPrefix } from "../../config/template.js";
import type { HelperEvidence, WalkEvidence } from "../evidence.js";

/** Causes in the entry, its variables, or its approval. */
export function configurationCauses(seen: WalkEvidence): Cause[] {
  return [...entryCauses(seen), ...disabledCauses(seen), ...valueCauses(seen), ...trustCauses(seen)];
}

function entryCauses({ findings, file }: WalkEvidence): Cause[] {
  return findings
    .filter(({ severity }) => severity === "error")
    .map(({ code, message, fix, line, column, suggested: { write } = {} }) => ({
      code: code === "authorization-scheme" ? "scheme-missing" : "entry-invalid",
      weight: 1,
      problem: message,
      evidence: [`Rule ${code}, in line ${line}.`],
      fix: { advice: fix, position: { file, line, column }, ...(write === undefined ? {} : { write }) },
    }));
}

function disabledCauses(seen: WalkEvidence): Cause[] {
  if (!seen.isDisabled) return [];
  const { problem, advice } = disabledParts(seen.server);
  const evidence = ["Nothing in the entry was run or connected to."];
  return [{ code: "entry-disabled", weight: 1, problem, evidence, fix: fixField(seen, "entry", advice) }];
}

const valueCodes: Partial<Record<RuleCode, CauseCode>> = {
  "variable-unset": "variable-unset",
  "variable-empty": "variable-empty",
  "variable-white-space": "variable-white-space",
  "variable-placeholder": "variable-placeholder",
  "authorization-doubled": "scheme-doubled",
  "basic-credentials": "credentials-malformed",
};

function valueCauses(seen: WalkEvidence): Cause[] {
  const isRefused = seen.attempt?.refusal !== undefined;
  return seen.values
    .filter(({ severity }) => severity !== "note")
    .map((finding): Cause => {
      const { code, severity, message, line } = finding;
      return {
        code: valueCodes[code] ?? "variable-unusable",
        // A warning alone is not a cause: the value may be intended, and the server may accept it.
        weight: severity === "error" ? 1 : isRefused ? 0.93 : 0.3,
        problem: message,
        evidence: [`Rule ${code}, for line ${line} of the configuration.`],
        fix: fixValue(seen, finding),
      };
    });
}

function fixValue({ file }: WalkEvidence, { variable, fix, line, column }: Finding): Fix {
  const position = { file, line, column };
  if (variable === undefined) return { advice: fix, position };
  // A value that a user enters is not a variable of the shell.
  if (variable.startsWith(inputPrefix)) {
    return { advice: fix, command: commandLine("inputs", variable.slice(inputPrefix.length)), position };
  }
  return { ...fixVariable(variable, fix), position };
}

function trustCauses(seen: WalkEvidence): Cause[] {
  const { trust } = seen;
  if (trust === undefined || trust.state === "trusted") return [];
  const base = { weight: 1, problem: trust.reason, evidence: ["Nothing in the entry was run or connected to."] };
  if (trust.missingHelper !== undefined) {
    const problem = `The helper ${trust.missingHelper} does not exist.`;
    const fix = fixField(seen, "headersHelper", `Restore the file, or change the entry. ${writeHelperPath}`);
    return [{ ...base, code: "helper-missing", problem, evidence: [trust.reason, ...base.evidence], fix }];
  }
  switch (trust.state) {
    case "new": {
      const fix = fixByCommand(seen, ["trust"], "Review the entry and approve it.");
      return [{ ...base, code: "not-approved", fix }];
    }
    case "changed": {
      const fix = fixByCommand(seen, ["trust"], "Review what changed and approve it.");
      return [{ ...base, code: "changed-since-approval", fix }];
    }
    case "denied": {
      const advice = "Ask the owner of the policy to allow the server.";
      return [{ ...base, code: "denied-by-policy", fix: { advice } }];
    }
    case "unreadable":
      return [{ ...base, code: "trust-unreadable", fix: { advice: "Fix the file that the message names." } }];
  }
}

/** Why a helper script returned no headers, or a command no secret. */
export function helperCauses(seen: WalkEvidence): Cause[] {
  const { helper, attempt } = seen;
  // The commands of env run when the process starts, and that of the client secret when a token is requested.
  const failure = helper?.failure ?? (attempt?.failure?.code.startsWith("HELPER_") ? attempt.failure : undefined);
  if (failure === undefined) return [];
  if (helper === undefined || helper.program === "command") {
    const code = helperCode({ failure, outcome: helper?.outcome });
    const fix = fixField(seen, "entry", failure.advice ?? "Run the command in a terminal to see why it fails.");
    return [{ code, weight: 1, problem: failure.message, evidence: [], fix }];
  }
  const code = helperCode(helper);
  const evidence = [`The helper is ${helper.path}.`];
  return [{ code, weight: 1, problem: failure.message, evidence, fix: fixForHelper(seen, helper, code) }];
}

function helperCode({ failure, outcome }: Pick<HelperEvidence, "failure" | "outcome">): CauseCode {
  if (failure?.code === "HELPER_NOT_RUNNABLE") {
    return outcome === "not-found" ? "helper-missing" : "helper-not-executable";
  }
  if (failure?.code === "HELPER_TIMEOUT") return "helper-timeout";
  return failure?.code === "HELPER_OUTPUT_INVALID" ? "helper-output-invalid" : "helper-failed";
}

const writeHelperPath = "Write the path of an existing script, relative to the root of the project or plugin.";

function fixForHelper(seen: WalkEvidence, { path, outcome, failure }: HelperEvidence, code: CauseCode): Fix {
  switch (code) {
    case "helper-missing":
      return fixField(seen, "headersHelper", writeHelperPath);
    case "helper-not-executable":
      if (outcome !== "not-executable" && failure?.advice) return fixField(seen, "headersHelper", failure.advice);
      return { advice: "Make it executable, and commit the file mode.", command: `chmod +x ${shellWord(path)}` };
    case "helper-timeout":
      return {
        advice: "Run it by hand to see what it waits for. It must not prompt for input.",
        command: `time ${shellWord(path)}`,
      };
    case "helper-output-invalid":
      return fixHelper(path, 'It must print {"Header-Name": "value"} and nothing else to standard output.');
    default:
      return fixHelper(path, failure?.advice ?? "Run it by hand to see why it fails.");
  }
}
