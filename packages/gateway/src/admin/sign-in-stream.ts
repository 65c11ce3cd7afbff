import { create } from "@bufbuild/protobuf";
import type { OAuthSession } from "@wirescope/tool-server/auth";
import {
  type SignInRequest,
  type SignInResponse,
  SignInResponseSchema,
  SignInWay,
} from "../gen/wirescope/v1/admin_pb.js";
import type { SignIns } from "../servers/sign-ins.js";
import { promptToMessage } from "./messages/sign-in-message.js";

export interface SignInStreamOptions {
  readonly request: SignInRequest;
  readonly session: OAuthSession;
  readonly signIns: SignIns;
  readonly signal: AbortSignal;
}

const ways = {
  [SignInWay.UNSPECIFIED]: undefined,
  [SignInWay.BROWSER]: "browser",
  [SignInWay.DEVICE]: "device",
} as const;

/** Tells what a person has to do, until the sign-in has ended; throws why it failed. The signal calls it off. */
export async function* signInStream(options: SignInStreamOptions): AsyncGenerator<SignInResponse> {
  const { request, session, signIns, signal } = options;
  const told: SignInResponse["event"][] = [];
  let wake = (): void => {};
  let isOver = false;
  const tell = (event: SignInResponse["event"]): void => {
    told.push(event);
    wake();
  };
  const ended = signIns
    .run(request.server, session, {
      way: ways[request.way as keyof typeof ways],
      scopes: request.scopes,
      confirmedIssuer: request.confirmedIssuer,
      confirmedOrigin: request.confirmedOrigin,
      signal,
      onShown: (shown) => tell({ case: "prompt", value: promptToMessage(shown) }),
      onWaiting: () => tell(waiting),
    })
    .finally(() => {
      isOver = true;
      wake();
    });
  ended.catch(() => {});
  while (true) {
    for (let event = told.shift(); event !== undefined; event = told.shift()) {
      yield create(SignInResponseSchema, { event });
    }
    if (isOver) return await ended;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
}

const waiting: SignInResponse["event"] = create(SignInResponseSchema, {
  event: {
    case: "waiting",
    value: { message: "Somebody is signing in to this server elsewhere; this waits for them." },
  },
}).event;
