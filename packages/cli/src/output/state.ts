import type { ChannelData } from "@wirescope/channelz";
import { ChannelConnectivityState_State as State } from "@wirescope/channelz/client";
import type { Paint, Palette } from "./screen.js";

/** The colour of the state in the data of a channel or subchannel. */
export function statePaint(data: ChannelData | undefined, palette: Palette): Paint {
  switch (data?.state?.state) {
    case State.READY:
      return palette.good;
    case State.CONNECTING:
      return palette.warning;
    case State.TRANSIENT_FAILURE:
      return palette.bad;
    default:
      return palette.faint;
  }
}
