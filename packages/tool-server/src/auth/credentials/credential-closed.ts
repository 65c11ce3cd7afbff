import { ToolServerError } from "../../errors.js";

/** The error of a credential that is asked for headers after it was disposed of. */
export function credentialClosed(server: string): ToolServerError {
  return new ToolServerError("CREDENTIAL_CLOSED", {
    problem: `The credential of the server ${JSON.stringify(server)} was disposed of.`,
    advice: "Create a new connection to use it.",
  });
}
