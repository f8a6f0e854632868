// A picture that is one: a small PNG, different for each `n`.
import { crc32, deflateSync } from "node:zlib";

export function png(width, height, n) {
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const box = Math.floor(x / 40) % 2 === Math.floor(y / 40) % 2;
      const at = y * (1 + width * 3) + 1 + x * 3;
      rows[at] = box ? 40 + n * 30 : 250;
      rows[at + 1] = box ? 130 : 250 - n * 10;
      rows[at + 2] = box ? 230 - n * 30 : 250;
    }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
