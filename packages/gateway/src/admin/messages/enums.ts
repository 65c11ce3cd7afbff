import type { Connection } from "@wirescope/tool-server";
import type { CredentialKind } from "@wirescope/tool-server/auth";
import type { Entry } from "@wirescope/tool-server/config";
import type { CheckOutcome } from "@wirescope/tool-server/why";
import { AuthMethod, Check_Outcome, ConnectivityState, Transport } from "../../gen/wirescope/v1/admin_pb.js";

export const transports: Readonly<Record<Entry["type"], Transport>> = {
  http: Transport.HTTP,
  sse: Transport.SSE,
  ws: Transport.WEBSOCKET,
  stdio: Transport.STDIO,
};

export const connectivityStates: Readonly<Record<Connection["state"], ConnectivityState>> = {
  IDLE: ConnectivityState.IDLE,
  CONNECTING: ConnectivityState.CONNECTING,
  READY: ConnectivityState.READY,
  TRANSIENT_FAILURE: ConnectivityState.TRANSIENT_FAILURE,
  SHUTDOWN: ConnectivityState.SHUTDOWN,
};

export const authMethods: Readonly<Record<CredentialKind, AuthMethod>> = {
  none: AuthMethod.NONE,
  headers: AuthMethod.HEADERS,
  helper: AuthMethod.HELPER,
  environment: AuthMethod.ENVIRONMENT,
  oauth: AuthMethod.OAUTH,
};

export const checkOutcomes: Readonly<Record<CheckOutcome, Check_Outcome>> = {
  ok: Check_Outcome.OK,
  failed: Check_Outcome.FAILED,
  skipped: Check_Outcome.SKIPPED,
};

/** The name for a number; undefined if a newer peer sent a number that is unknown here. */
export function nameOf<Name extends string>(table: Readonly<Record<Name, number>>, number: number): Name | undefined {
  return (Object.keys(table) as Name[]).find((name) => table[name] === number);
}
