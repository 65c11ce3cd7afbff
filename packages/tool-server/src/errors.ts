/** Every way in which this package fails. `docs/errors.md` explains each code and what to do about it. */
export type ToolServerErrorCode =
  /** The configuration file cannot be read: it is not there, not allowed, too large, or not UTF-8. */
  | "CONFIGURATION_UNREADABLE"
  /** A variable that an entry refers to is unset, or its value cannot stand where it is used. */
  | "VARIABLE_UNUSABLE"
  /** A header of a credential cannot be sent: its name or its value is not one of a header. */
  | "CREDENTIAL_UNUSABLE"
  /** Two parts of a credential claim the same header. */
  | "CREDENTIAL_CONFLICT"
  /** The credential was disposed of. */
  | "CREDENTIAL_CLOSED"
  /** The helper cannot be started: it is not there, or not executable. */
  | "HELPER_NOT_RUNNABLE"
  /** The helper ended with a code other than 0, or by a signal. */
  | "HELPER_FAILED"
  /** The helper did not end in time. */
  | "HELPER_TIMEOUT"
  /** What the helper wrote is not one JSON object of headers. */
  | "HELPER_OUTPUT_INVALID";

/** The one error of this package: guard on `code`, read `message`, look at `cause`. Its message never holds a secret. */
export class ToolServerError extends Error {
  override readonly name = "ToolServerError";
  readonly code: ToolServerErrorCode;

  constructor(code: ToolServerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Whether `value` is a ToolServerError, with this code where one is given; also across copies of this package. */
  static is(value: unknown, code?: ToolServerErrorCode): value is ToolServerError {
    return (
      value instanceof Error &&
      value.name === "ToolServerError" &&
      "code" in value &&
      (code === undefined || value.code === code)
    );
  }
}
