import { ConnectError } from "@connectrpc/connect";

/** The message of an error for the user: for a ConnectError, without the status in front of it. */
export function errorMessage(error: unknown): string {
  if (error instanceof ConnectError) return error.rawMessage;
  return error instanceof Error ? error.message : String(error);
}
