import { commandLine } from "../command-line.js";
import { type ErrorParts, ToolServerError } from "../errors.js";
import { renderDiff } from "./diff-approval.js";
import type { TrustJudgement } from "./judge-trust.js";
import type { DenyingRule } from "./policy.js";
import { quoteText, quoteUnlessPlain } from "./quoted-text.js";
import { renderApproval } from "./render-approval.js";

/** A judgement that does not let an entry act. */
export type Distrust = Exclude<TrustJudgement, { readonly state: "trusted" }>;

/** The judgement as lines for people, in plain ASCII: what is to be approved, what changed, or who forbids it. */
export function renderDistrust(server: string, judgement: Distrust): string[] {
  switch (judgement.state) {
    case "new":
      return renderApproval(judgement.approval);
    case "changed":
      return [
        `The server ${quoteText(server)} is not what was approved:`,
        ...renderDiff(judgement.diff).map((line) => `  ${line}`),
        ...renderApproval(judgement.approval),
      ];
    case "denied":
      return [new ToolServerError("NOT_TRUSTED", partsOf(server, judgement)).message];
  }
}

/** The error that an entry fails with that is not trusted: NOT_TRUSTED, with what to do. */
export function notTrusted(server: string, judgement: Distrust): ToolServerError {
  return new ToolServerError("NOT_TRUSTED", partsOf(server, judgement));
}

function partsOf(server: string, judgement: Distrust): ErrorParts {
  const name = quoteText(server);
  const command = /^[\w.-]+$/.test(server) ? commandLine("trust", server) : `${commandLine("trust")} <server>`;
  // Another value of the variable leads elsewhere, and would be approved in place of this one.
  const same = originOf(judgement) === undefined ? "" : ", with the same variables and --env-file";
  const advice = `Look at it and approve it: ${command}${same}. Or give --trust for this run alone.`;
  switch (judgement.state) {
    case "new":
      return { problem: `The server ${name} is not approved yet, so nothing of it was run or connected to.`, advice };
    case "changed": {
      const count = judgement.diff.length === 1 ? "1 change" : `${judgement.diff.length} changes`;
      const problem = `The server ${name} is not what was approved (${count}), so nothing of it was run or connected to.`;
      return { problem, advice };
    }
    case "denied": {
      const { reason, advice: next } = describeDenial(judgement.rule);
      return { problem: `The server ${name} is not allowed here: ${reason}`, advice: next };
    }
  }
}

function originOf(judgement: Distrust): string | undefined {
  return judgement.state === "denied" ? undefined : judgement.subject.fingerprint.origin;
}

function describeDenial(denial: DenyingRule): { readonly reason: string; readonly advice: string } {
  const policy = `the policy ${quoteUnlessPlain(denial.policy)}`;
  switch (denial.kind) {
    case "deny": {
      const reason = denial.rule.reason === undefined ? "" : ` It says: ${quoteText(denial.rule.reason)}.`;
      return {
        reason: `${policy} denies it in line ${denial.rule.line}.${reason}`,
        advice: "Ask the owner of the policy.",
      };
    }
    case "others":
      return { reason: `${policy} denies what it does not list.`, advice: "Ask the owner of the policy to add it." };
    case "trust-flag":
      return {
        reason: `${policy} does not accept --trust, and the server is not approved as it is.`,
        advice: "Approve it, without --trust.",
      };
  }
}
