import type { Finding } from "../../config/finding.js";
import type { RuleCode } from "../../config/rules.js";
import type { CauseCode } from "../cause-table.js";
import type { Cause, Mend } from "../explanation.js";
import type { WalkFacts } from "../facts.js";
import { mendBy, mendVariable } from "./mends.js";

/** What is wrong with the entry, its variables, or the trust in it. */
export function configurationCauses(facts: WalkFacts): Cause[] {
  return [...entryCauses(facts), ...valueCauses(facts), ...trustCauses(facts)];
}

function entryCauses({ findings, file }: WalkFacts): Cause[] {
  return findings
    .filter(({ severity }) => severity === "error")
    .map(({ code, message, fix, line, column }) => ({
      cause: code === "authorization-scheme" ? "scheme-missing" : "entry-invalid",
      weight: 1,
      message,
      evidence: [`The rule ${code}, in line ${line}.`],
      mend: { what: fix, place: { file, line, column }, ...(writeOf(fix) ?? {}) },
    }));
}

/** What a fix says to write, where it does. */
function writeOf(fix: string): Pick<Mend, "write"> | undefined {
  const write = /^Write ("[^"]+")/.exec(fix)?.[1];
  return write === undefined ? undefined : { write };
}

const valueCodes: Partial<Record<RuleCode, CauseCode>> = {
  "variable-unset": "variable-unset",
  "variable-empty": "variable-empty",
  "variable-white-space": "variable-white-space",
  "variable-placeholder": "variable-placeholder",
  "authorization-doubled": "scheme-doubled",
  "basic-credentials": "credentials-malformed",
};

function valueCauses(facts: WalkFacts): Cause[] {
  const isRefused = facts.attempt?.refusal !== undefined;
  return facts.values
    .filter(({ severity }) => severity !== "note")
    .map((finding): Cause => {
      const { code, severity, message, line } = finding;
      // A warning is no cause by itself: it may be meant so, and the server may take it.
      const weight = severity === "error" ? 1 : isRefused ? 0.93 : 0.3;
      const evidence = [`The rule ${code}, for what stands in line ${line} of the configuration.`];
      return {
        cause: valueCodes[code] ?? "variable-unusable",
        weight,
        message,
        evidence,
        mend: mendOf(facts, finding),
      };
    });
}

function mendOf({ file }: WalkFacts, { variable, fix, line, column }: Finding): Mend {
  const place = { file, line, column };
  return variable === undefined ? { what: fix, place } : { ...mendVariable(variable, fix), place };
}

function trustCauses(facts: WalkFacts): Cause[] {
  const { trust } = facts;
  if (trust === undefined || trust.state === "trusted") return [];
  const base = { weight: 1, message: trust.words, evidence: ["Nothing of the entry was run or connected to."] };
  switch (trust.state) {
    case "new":
      return [{ ...base, cause: "not-approved", mend: mendBy(facts, ["trust"], "Look at the entry, and approve it.") }];
    case "changed": {
      const mend = mendBy(facts, ["trust"], "Look at what changed, and approve it.");
      return [{ ...base, cause: "changed-since-approval", mend }];
    }
    case "denied":
      return [
        { ...base, cause: "denied-by-policy", mend: { what: "Ask the owner of the policy to allow the server." } },
      ];
    case "unreadable":
      return [{ ...base, cause: "trust-unreadable", mend: { what: "Fix the file that the message names." } }];
  }
}
