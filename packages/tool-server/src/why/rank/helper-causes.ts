import { shellWord } from "../../command-line.js";
import type { CauseCode } from "../cause-table.js";
import type { Cause, Mend } from "../explanation.js";
import type { HelperFacts, WalkFacts } from "../facts.js";
import { mendField } from "./mends.js";

/** Why a helper gave no headers. */
export function helperCauses(facts: WalkFacts): Cause[] {
  const { helper } = facts;
  if (helper?.failure === undefined) return [];
  const cause = codeOf(helper);
  const evidence = [`The helper is ${helper.path}.`];
  return [{ cause, weight: 1, message: helper.failure.message, evidence, mend: mendOf(facts, helper, cause) }];
}

function codeOf({ failure, outcome }: HelperFacts): CauseCode {
  if (failure?.code === "HELPER_NOT_RUNNABLE") {
    return outcome === "not-found" ? "helper-missing" : "helper-not-executable";
  }
  if (failure?.code === "HELPER_TIMEOUT") return "helper-timeout";
  return failure?.code === "HELPER_OUTPUT_INVALID" ? "helper-output-invalid" : "helper-failed";
}

function mendOf(facts: WalkFacts, { path, outcome, failure }: HelperFacts, cause: CauseCode): Mend {
  const run = shellWord(path);
  switch (cause) {
    case "helper-missing":
      return mendField(facts, "headersHelper", "Write the path of a script that is there, from the plugin's root.");
    case "helper-not-executable":
      if (outcome !== "not-executable" && failure?.advice) return mendField(facts, "headersHelper", failure.advice);
      return { what: "Make it executable, and keep that in version control.", command: `chmod +x ${run}` };
    case "helper-timeout":
      return { what: "Run it by hand, and see what it waits for: it must not ask anything.", command: `time ${run}` };
    case "helper-output-invalid":
      return { what: 'Let it write {"Header-Name": "value"} and nothing else to standard output.', command: run };
    default:
      return { what: failure?.advice ?? "Run it by hand to see why it fails.", command: run };
  }
}
