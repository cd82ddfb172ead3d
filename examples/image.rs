//! Reads and writes images as PNG files. The examples share this module.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

/// An image of three channels with values from 0 to 1, in row-major order.
pub struct Image {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Red, green and blue of each pixel.
    pub pixels: Vec<f32>,
}

/// Reads a PNG file of any colour type. Transparency is dropped.
pub fn read(path: &Path) -> Result<Image, Box<dyn Error>> {
    decode(path).map_err(|e| format!("cannot read the image {}: {e}", path.display()).into())
}

fn decode(path: &Path) -> Result<Image, Box<dyn Error>> {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(path)?));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let mut bytes = vec![0; reader.output_buffer_size().ok_or("it is too large")?];
    let info = reader.next_frame(&mut bytes)?;
    bytes.truncate(info.buffer_size());
    let shade = |byte: u8| f32::from(byte) / 255.0;
    let grey = matches!(info.color_type, png::ColorType::Grayscale | png::ColorType::GrayscaleAlpha);
    let pixel = |p: &[u8]| if grey { [shade(p[0]); 3] } else { [shade(p[0]), shade(p[1]), shade(p[2])] };
    let pixels = bytes.chunks_exact(info.color_type.samples()).flat_map(pixel).collect();
    Ok(Image { height: info.height as usize, width: info.width as usize, pixels })
}

/// Writes an image of bytes, and creates its folder.
pub fn write(path: &Path, colours: png::ColorType, width: usize, height: usize, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    encode(path, colours, width, height, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()).into())
}

fn encode(path: &Path, colours: png::ColorType, width: usize, height: usize, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), u32::try_from(width)?, u32::try_from(height)?);
    encoder.set_color(colours);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(bytes)?;
    Ok(writer.finish()?)
}
