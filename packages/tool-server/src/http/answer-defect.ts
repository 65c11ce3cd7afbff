/** That an answer is not as HTTP/1.1 has it. Quotes nothing of it, for what a server sends may be anything. */
export class AnswerDefect extends Error {
  override readonly name = "AnswerDefect";
  readonly kind: "malformed" | "head-too-large";

  constructor(kind: AnswerDefect["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** That a socket was closed before an answer had come to its end. */
export class SocketClosed extends Error {
  override readonly name = "SocketClosed";
}

export function malformed(what: string): AnswerDefect {
  return new AnswerDefect("malformed", what);
}
