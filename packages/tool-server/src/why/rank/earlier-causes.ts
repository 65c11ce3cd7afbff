import type { ToolServerErrorCode } from "../../errors.js";
import type { CauseCode } from "../cause-table.js";
import type { Cause, Mend } from "../explanation.js";
import type { WalkFacts } from "../facts.js";
import type { FailureFacts } from "../failure-facts.js";
import { approvalHint } from "./hints.js";
import { clientMend, mendBy } from "./mends.js";

const codes: Partial<Record<ToolServerErrorCode, CauseCode>> = {
  REGISTRATION_REFUSED: "registration-refused",
  SIGN_IN_FAILED: "sign-in-failed",
  ISSUER_CHANGED: "issuer-changed",
  TOKEN_REFUSED: "token-refused",
};

/**
 * What a failure of a sign-in tells: one from before, which a walk does not repeat, for it would change something or need a
 * person; or that of a grant which needs none.
 */
export function earlierCauses(facts: WalkFacts): Cause[] {
  const { earlier, attempt } = facts;
  return [
    ...causesOf(facts, earlier, "It failed so when somebody last signed in."),
    ...(attempt?.credential === "oauth"
      ? causesOf(facts, attempt.failure, "It failed so when a token was asked for.")
      : []),
  ];
}

function causesOf(facts: WalkFacts, failure: FailureFacts | undefined, when: string): Cause[] {
  const cause = failure === undefined ? undefined : codes[failure.code];
  if (failure === undefined || cause === undefined) return [];
  const { message, said = "" } = failure;
  const base = { message, evidence: [when] };
  if (approvalHint.test(said)) {
    const mend = { what: "Ask an administrator of the server, or of your organization there, to approve this client." };
    return [{ ...base, cause: "approval-needed", weight: 0.95, mend }];
  }
  if (/redirect[_ ]?ur[il]/i.test(said) && cause !== "issuer-changed") {
    const what =
      "Sign out and in again: the client is registered anew. Where it was registered by hand, correct its redirect URI.";
    return [{ ...base, cause: "redirect-mismatch", weight: 0.95, mend: mendBy(facts, ["logout", "login"], what) }];
  }
  return [{ ...base, cause, weight: 0.95, mend: mendOf(facts, cause) }];
}

function mendOf(facts: WalkFacts, cause: CauseCode): Mend {
  switch (cause) {
    case "registration-refused":
      return clientMend(facts);
    case "issuer-changed":
      return mendBy(
        facts,
        ["login"],
        "Ask the operator of the server; where the change is meant, sign in again and confirm it.",
      );
    default:
      return mendBy(facts, ["login"], "Sign in again.");
  }
}
