import type { ServerReport } from "@wirescope/gateway/internal";
import type { TrustDecision } from "@wirescope/tool-server";
import type { OAuthDescription, SignIn, SignOutOptions, SignOutReport, Vault } from "@wirescope/tool-server/auth";
import type { Explanation } from "@wirescope/tool-server/why";
import type { Io } from "../io.js";

/**
 * What a person does about tool servers. One implementation uses the servers of a configuration in this process, the other asks the
 * gateway that runs; commands are written once for both. Methods reject with a ToolServerError or a UsageError.
 */
export interface ServerAdmin extends AsyncDisposable {
  /** The address of the gateway that does the work; undefined if this process does. */
  readonly gateway: string | undefined;
  /** Where to print: secrets that are known by then are redacted. */
  readonly io: Io;
  /** The sign-in status of a server, or of all. */
  list(name?: string): Promise<readonly ServerReport[]>;
  /** How each server is. Without a gateway, all that are approved are connected to for that; nobody is asked anything. */
  statuses(): Promise<ServerStatuses>;
  /** Whose sign-ins `list` shows: those of a gateway, or those of a vault. */
  describe(): Promise<{ readonly gateway: string } | { readonly vault: ReturnType<Vault["describe"]> }>;
  signIn(server: string, options: AdminSignInOptions): Promise<SignedIn>;
  signOut(server: string, options: SignOutOptions): Promise<SignOutReport>;
  /** Which servers are trusted. */
  approvals(): Promise<readonly TrustRow[]>;
  /** What there is to approve of one. */
  approval(server: string): Promise<PendingApproval>;
  /** Says why a server does not work. Asks nobody for trust. */
  explain(server: string): Promise<Explanation>;
  /** Connects the named server, or all that are not connected, and gives how each is now. */
  reconnect(name?: string): Promise<readonly ServerReport[]>;
  /** Reads the configuration again. Resolves with the names of the servers that are used from then on. */
  reload(): Promise<readonly string[]>;
  /** Turns the debug mode on or off, and gives whether it was on. */
  setDebug(isOn: boolean): Promise<boolean>;
}

/** How the servers are. */
export interface ServerStatuses {
  readonly servers: readonly ServerReport[];
  /** Why the gateway still uses an older configuration than that of its files; undefined if it does not. */
  readonly reloadFailure: ServerReport["failure"];
}

/** How a person signs in. */
export interface AdminSignInOptions {
  readonly person: SignIn;
  readonly isByDevice: boolean;
  readonly scopes: readonly string[];
  /** The origin of a sign-in page that the person accepts beforehand. */
  readonly confirmedOrigin: string | undefined;
  readonly signal: AbortSignal;
}

/** A sign-in that succeeded. */
export interface SignedIn {
  readonly oauth: OAuthDescription | undefined;
  /** Connects to the server with it. Resolves with what the server says of itself. */
  connect(): Promise<{ readonly name?: string | undefined; readonly version?: string | undefined }>;
}

/** Whether a server is trusted, and why. */
export interface TrustRow {
  readonly name: string;
  readonly type: string;
  readonly state: TrustDecision["state"];
  readonly reason: string;
}

/** What there is to approve of a server. */
export interface PendingApproval extends Omit<TrustRow, "type"> {
  /** What a user must see before approving. */
  readonly lines: readonly string[];
  /** Whether it is trusted for the run of a gateway alone. */
  readonly isForRun: boolean;
  /** Approves what was shown; rejects if that has changed. Resolves with why the server does not work then, if it was tried. */
  approve(): Promise<string | undefined>;
}
