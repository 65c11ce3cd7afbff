import type { ServerReport } from "@wirescope/gateway/internal";
import type { TrustDecision } from "@wirescope/tool-server";
import type { Ask, OAuthDescription, SignOutOptions, SignOutReport, Vault } from "@wirescope/tool-server/auth";
import type { Explanation } from "@wirescope/tool-server/why";
import type { Io } from "../io.js";

/**
 * Administers tool servers. One implementation uses the servers of a configuration in this process, the other calls the running
 * gateway; commands are written once for both. Methods reject with a ToolServerError or a UsageError.
 */
export interface ServerAdmin extends AsyncDisposable {
  /** The address of the gateway that does the work; undefined if this process does. */
  readonly gateway: string | undefined;
  /** Output that redacts the secrets known so far. */
  readonly io: Io;
  /** The sign-in status of a server, or of all. */
  list(name?: string): Promise<readonly ServerReport[]>;
  /** The status of a server, or of all. Without a gateway, this connects to those that are approved. It never prompts. */
  statuses(name?: string): Promise<ServerStatuses>;
  /** Whose sign-ins `list` shows: those of a gateway, or those of a vault. */
  describe(): Promise<{ readonly gateway: string } | { readonly vault: ReturnType<Vault["describe"]> }>;
  signIn(server: string, options: AdminSignInOptions): Promise<SignedIn>;
  signOut(server: string, options: SignOutOptions): Promise<SignOutReport>;
  /** The trust state of each server. */
  approvals(): Promise<readonly TrustRow[]>;
  /** What approving a server would approve. */
  approval(server: string): Promise<PendingApproval>;
  /** Diagnoses a server. It does not prompt for approval. */
  explain(server: string): Promise<Explanation>;
  /** Connects to the named server, or to all that do not work, and lists their tools. Resolves with the new status of each. */
  reconnect(name?: string): Promise<readonly ServerReport[]>;
  /** Reloads the configuration. Resolves with the names of its servers. */
  reload(): Promise<readonly string[]>;
  /** Turns debug mode on or off. Resolves with whether it was on. */
  setDebug(isOn: boolean): Promise<boolean>;
}

export interface ServerStatuses {
  readonly servers: readonly ServerReport[];
  /** Why the gateway could not reload its changed configuration; undefined if it is up to date. */
  readonly reloadFailure: ServerReport["failure"];
  /** What the user should know about the gateway itself. */
  readonly notes: readonly string[];
}

export interface AdminSignInOptions {
  readonly person: Ask;
  readonly isByDevice: boolean;
  readonly scopes: readonly string[];
  /** The origin of a sign-in page that the person accepts beforehand. */
  readonly confirmedOrigin: string | undefined;
  readonly signal: AbortSignal;
}

/** A sign-in that succeeded. */
export interface SignedIn {
  readonly oauth: OAuthDescription | undefined;
  /** Connects to the server with it. Resolves with the name and version that the server reports. */
  connect(): Promise<{ readonly name?: string | undefined; readonly version?: string | undefined }>;
}

/** Whether a server is trusted, and why. */
export interface TrustRow {
  readonly name: string;
  readonly type: string;
  readonly state: TrustDecision["state"];
  readonly reason: string;
}

/** A server, and what approving it would approve. */
export interface PendingApproval extends Omit<TrustRow, "type"> {
  /** What a user must see before approving. */
  readonly lines: readonly string[];
  /** Whether it is trusted only while the gateway runs. */
  readonly isForRun: boolean;
  /** Approves what was shown; rejects if that has changed. Resolves with why connecting to the server failed, if that was tried. */
  approve(): Promise<string | undefined>;
}
