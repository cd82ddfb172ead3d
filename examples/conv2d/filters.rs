//! The filters: 32 of 3x3 pixels by 3 channels, each with a meaning that can be seen in its feature map.
//!
//! Most are a pattern over the pixels times a mixture of the channels (red, green, blue). The convolution does not flip a filter:
//! the weight at the top left is multiplied by the pixel at the top left.

/// Weights over the pixels, rows from the top.
type Grid = [[f32; 3]; 3];
/// Weights of red, green and blue.
type Mix = [f32; 3];

/// The luminance of linear sRGB; here applied to the stored values, as image processing mostly does.
const LUMA: Mix = [0.2126, 0.7152, 0.0722];
const RED: Mix = [1.0, 0.0, 0.0];
const GREEN: Mix = [0.0, 1.0, 0.0];
const BLUE: Mix = [0.0, 0.0, 1.0];
const RED_GREEN: Mix = [1.0, -1.0, 0.0];
const YELLOW_BLUE: Mix = [0.5, 0.5, -1.0];

const CENTRE: Grid = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]];
const BOX: Grid = [[1.0 / 9.0; 3]; 3];
/// The ring around the centre.
const AROUND: Grid = [[0.125, 0.125, 0.125], [0.125, 0.0, 0.125], [0.125, 0.125, 0.125]];
const GAUSS: Grid = [[0.0625, 0.125, 0.0625], [0.125, 0.25, 0.125], [0.0625, 0.125, 0.0625]];
const DIAGONAL_BLUR: Grid = [[1.0 / 3.0, 0.0, 0.0], [0.0, 1.0 / 3.0, 0.0], [0.0, 0.0, 1.0 / 3.0]];
const SHARPEN: Grid = [[0.0, -1.0, 0.0], [-1.0, 5.0, -1.0], [0.0, -1.0, 0.0]];
const LAPLACE_4: Grid = [[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]];
const LAPLACE_8: Grid = [[1.0, 1.0, 1.0], [1.0, -8.0, 1.0], [1.0, 1.0, 1.0]];
/// Brighter to the right.
const SOBEL_X: Grid = [[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]];
/// Brighter upward.
const SOBEL_Y: Grid = [[1.0, 2.0, 1.0], [0.0, 0.0, 0.0], [-1.0, -2.0, -1.0]];
const LINE_0: Grid = [[-1.0, -1.0, -1.0], [2.0, 2.0, 2.0], [-1.0, -1.0, -1.0]];
const LINE_45: Grid = [[-1.0, -1.0, 2.0], [-1.0, 2.0, -1.0], [2.0, -1.0, -1.0]];
const LINE_90: Grid = [[-1.0, 2.0, -1.0], [-1.0, 2.0, -1.0], [-1.0, 2.0, -1.0]];
const LINE_135: Grid = [[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0], [-1.0, -1.0, 2.0]];
/// Light from the top left.
const EMBOSS: Grid = [[-2.0, -1.0, 0.0], [-1.0, 1.0, 1.0], [0.0, 1.0, 2.0]];
/// The mixed second derivative: saddles and corners.
const SADDLE: Grid = [[1.0, 0.0, -1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 1.0]];
/// A checkerboard: the finest texture that nine pixels can show.
const CHECKER: Grid = [[1.0, -1.0, 1.0], [-1.0, 0.0, -1.0], [1.0, -1.0, 1.0]];

/// The number of filters: output channels of the convolution.
pub const COUNT: usize = 32;

/// A filter.
pub struct Filter {
    /// Its name, by the feature that it finds.
    pub name: &'static str,
    /// Its weights: row, column, channel.
    weights: [[Mix; 3]; 3],
}

impl Filter {
    /// Returns a pattern times a mixture.
    fn new(name: &'static str, grid: Grid, mix: Mix) -> Filter {
        Filter { name, weights: grid.map(|row| row.map(|w| mix.map(|m| w * m))) }
    }

    /// Returns the sum of two filters.
    fn plus(mut self, other: Filter) -> Filter {
        let pairs = self.weights.as_flattened_mut().as_flattened_mut().iter_mut().zip(other.weights.as_flattened().as_flattened());
        pairs.for_each(|(a, b)| *a += b);
        self
    }

    /// Returns true if the filter is 0 where the image has a constant shade of grey, so that its map has both signs.
    pub fn is_difference(&self) -> bool {
        self.weights.as_flattened().as_flattened().iter().sum::<f32>().abs() < 1e-4
    }
}

/// Returns a gradient of the luminance in the direction of `degrees`, counter-clockwise from the right.
fn gradient(name: &'static str, degrees: f32) -> Filter {
    let (sin, cos) = degrees.to_radians().sin_cos();
    Filter::new(name, SOBEL_X, LUMA.map(|m| cos * m)).plus(Filter::new("", SOBEL_Y, LUMA.map(|m| sin * m)))
}

/// Returns one mixture at the centre less another mixture around it, like cells of the retina.
fn surround(name: &'static str, centre: Mix, around: Mix) -> Filter {
    Filter::new(name, CENTRE, centre).plus(Filter::new("", AROUND, around.map(|m| -m)))
}

/// Returns the filters, in the order of the output channels: four rows of eight.
pub fn bank() -> [Filter; COUNT] {
    [
        // Shapes of the luminance.
        Filter::new("luminance", CENTRE, LUMA),
        Filter::new("box blur", BOX, LUMA),
        Filter::new("Gaussian blur", GAUSS, LUMA),
        Filter::new("diagonal blur", DIAGONAL_BLUR, LUMA),
        Filter::new("sharpen", SHARPEN, LUMA),
        Filter::new("unsharp mask", CENTRE, LUMA.map(|m| 2.0 * m)).plus(Filter::new("", GAUSS, LUMA.map(|m| -m))),
        Filter::new("Laplace, 4 neighbours", LAPLACE_4, LUMA),
        Filter::new("Laplace, 8 neighbours", LAPLACE_8, LUMA),
        // Gradients of the luminance, in steps of 22.5 degrees.
        gradient("gradient 0", 0.0),
        gradient("gradient 22.5", 22.5),
        gradient("gradient 45", 45.0),
        gradient("gradient 67.5", 67.5),
        gradient("gradient 90", 90.0),
        gradient("gradient 112.5", 112.5),
        gradient("gradient 135", 135.0),
        gradient("gradient 157.5", 157.5),
        // Lines, reliefs and textures of the luminance.
        Filter::new("line 0", LINE_0, LUMA),
        Filter::new("line 45", LINE_45, LUMA),
        Filter::new("line 90", LINE_90, LUMA),
        Filter::new("line 135", LINE_135, LUMA),
        Filter::new("emboss", EMBOSS, LUMA),
        Filter::new("saddle", SADDLE, LUMA),
        Filter::new("checkerboard", CHECKER, LUMA),
        Filter::new("high pass", CENTRE, LUMA).plus(Filter::new("", BOX, LUMA.map(|m| -m))),
        // Colour.
        Filter::new("red", GAUSS, RED),
        Filter::new("green", GAUSS, GREEN),
        Filter::new("blue", GAUSS, BLUE),
        Filter::new("red - green", GAUSS, RED_GREEN),
        Filter::new("yellow - blue", GAUSS, YELLOW_BLUE),
        surround("red in green", RED, GREEN),
        surround("blue in yellow", BLUE, [0.5, 0.5, 0.0]),
        Filter::new("red - green edge", SOBEL_X, RED_GREEN),
    ]
}

/// Returns the filters as the kernel's tensor: row, column, channel, filter.
pub fn weights(bank: &[Filter; COUNT]) -> Vec<f32> {
    let mut weights = Vec::with_capacity(3 * 3 * 3 * COUNT);
    for (row, column, channel) in (0..27).map(|i| (i / 9, i / 3 % 3, i % 3)) {
        weights.extend(bank.iter().map(|f| f.weights[row][column][channel]));
    }
    weights
}
