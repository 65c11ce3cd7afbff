/** A rate with as many digits as it needs: 0.05, 1.2, 240. */
export function perSecond(rate: number | undefined): string {
  if (rate === undefined) return "–";
  if (rate === 0) return "0";
  if (rate < 0.1) return rate.toFixed(2);
  return rate < 100 ? rate.toFixed(1) : Math.round(rate).toLocaleString("en");
}

/** A share of a whole: "0 %", "0.8 %"; a dash if there is no whole. */
export function percent(part: bigint | number | undefined, whole: bigint | number | undefined): string {
  if (part === undefined || whole === undefined || Number(whole) === 0) return "–";
  const share = (Number(part) / Number(whole)) * 100;
  if (share === 0 || share >= 10) return `${Math.round(share)} %`;
  return share < 0.1 ? "< 0.1 %" : `${share.toFixed(1)} %`;
}
