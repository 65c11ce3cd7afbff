import type { OriginPattern } from "./origin-pattern.js";

/** When stdio servers and helpers run in the sandbox. */
export type SandboxRule = "auto" | "required" | "off";

/** What a rule is about. All that it names must hold. */
export interface PolicyRule {
  /** Entries that lead to this origin. */
  readonly url?: OriginPattern | undefined;
  /** stdio entries with this command: its path or name, as it is written in the entry. */
  readonly command?: string | undefined;
  /** What the arguments begin with. */
  readonly args: readonly string[];
  /** The variables that an allowed entry may set for its process; others are not allowed. */
  readonly env: readonly string[];
  /** Whether an allowed entry may have a helper. */
  readonly helper: boolean;
  /** Whether an allowed entry has to run in the sandbox; false allows `"sandbox": false` as well. */
  readonly sandbox: boolean;
  /** This entry with these files, and no other: a digest. */
  readonly fingerprint?: string | undefined;
  /** Configurations at or below this absolute path. */
  readonly configuration?: string | undefined;
  /** Told to who is refused. */
  readonly reason?: string | undefined;
  /** Where the rule stands in the file. */
  readonly line: number;
}

/** What a team has decided for its users. */
export interface TrustPolicy {
  /** The file that it is from. */
  readonly path: string;
  /** Whether a person approves also what a rule allows. */
  readonly requireApproval: "always" | "unless-allowed";
  /** Whether `--trust` counts. */
  readonly allowTrustFlag: boolean;
  /** What becomes of entries that no rule names. */
  readonly others: "ask" | "deny";
  /** Whether stdio servers and helpers run in the sandbox: as their entry says, if there is one; always, or not at all; or never. */
  readonly sandbox: SandboxRule;
  readonly allow: readonly PolicyRule[];
  readonly deny: readonly PolicyRule[];
}

/** Why a policy forbids an entry. */
export type DenyingRule =
  | { readonly kind: "deny"; readonly policy: string; readonly rule: PolicyRule }
  /** No rule allows it, and the policy denies others. */
  | { readonly kind: "others"; readonly policy: string }
  /** It was to be trusted by `--trust`, which the policy does not accept. */
  | { readonly kind: "trust-flag"; readonly policy: string };
