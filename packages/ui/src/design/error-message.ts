import { ConnectError } from "@connectrpc/connect";

/** What a person reads about an error: the message of the gateway without the status in front of it. */
export function errorMessage(error: unknown): string {
  if (error instanceof ConnectError) return error.rawMessage;
  return error instanceof Error ? error.message : String(error);
}
